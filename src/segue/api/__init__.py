"""What users hold: ``Segue``, ``Session``, ``RecoverableAgent``. Verbs call services, decide nothing."""
