"""The one exception of this package."""


class LitecastError(Exception):
    """What every function of this package raises.

    ``kind`` is a stable word, for example ``truncated``, ``batch`` or ``wrong-argument``; ``message`` is for people.
    """

    kind: str
    message: str

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.message = message

    def __str__(self) -> str:
        return self.message
