"""placeholder"""


class Guard: ...
