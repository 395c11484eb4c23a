"""The one exception of this package."""


class LitecastError(Exception):
    """What every function of this package raises.

    ``kind`` is a stable word, for example ``truncated``, ``batch`` or ``wrong-argument``; ``message`` is for people.
    """

    kind: str
    message: str
    #: Of a model of a list: its name.
    file: str | None

    def __init__(self, kind: str, message: str, file: str | None = None) -> None:
        super().__init__(kind, message, file)
        self.kind = kind
        self.message = message
        self.file = file

    def __str__(self) -> str:
        return self.message
