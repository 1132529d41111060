"""What the exceptions of litellm mean: several clients ask their models by way of it."""

from __future__ import annotations

import re

from trialbook.api import Trouble, trouble_of_status

_STATUS = re.compile(r"\b(?:Error code|HTTP|status)[: ]+(\d{3})\b")
_TROUBLES = {
    "AuthenticationError": Trouble.AUTHENTICATION,
    "PermissionDeniedError": Trouble.AUTHENTICATION,
    "RateLimitError": Trouble.RATE_LIMIT,
    "ServiceUnavailableError": Trouble.OVERLOADED,
    "InternalServerError": Trouble.SERVER,
    "BadGatewayError": Trouble.SERVER,
    "APIConnectionError": Trouble.CONNECTION,
    "Timeout": Trouble.CONNECTION,
    "APITimeoutError": Trouble.CONNECTION,
    "NotFoundError": Trouble.MODEL,
    "BudgetExceededError": Trouble.BILLING,
    "BadRequestError": Trouble.REQUEST,
    "ContextWindowExceededError": Trouble.REQUEST,
    "ContentPolicyViolationError": Trouble.REQUEST,
    "UnprocessableEntityError": Trouble.REQUEST,
    "UnsupportedParamsError": Trouble.REQUEST,
}
# Names that stand for more than one thing, and the words that tell which.
_WORDS = {
    Trouble.RATE_LIMIT: (("quota", Trouble.BILLING),),
    Trouble.SERVER: (
        ("connection error", Trouble.CONNECTION),
        ("missing credentials", Trouble.AUTHENTICATION),
    ),
}


def trouble_of_exception(name: str, said: str, causes: str = "") -> Trouble | None:
    """What an exception means, by its name, then by the status in what it says.

    ``causes`` is the text of the exceptions that it was raised for, if that is known.
    """
    known = _TROUBLES.get(name)
    if known is not None:
        lowered = said.lower()
        words = _WORDS.get(known, ())
        return next((trouble for word, trouble in words if word in lowered), known)
    if name != "APIError":
        return None
    status = _STATUS.search(said) or _STATUS.search(causes)
    return trouble_of_status(int(status[1])) if status else None
