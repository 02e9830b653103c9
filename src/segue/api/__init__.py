"""The classes of the library: ``Segue``, ``Session``, ``RecoverableAgent``. Methods only call services."""
