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
_LOST = "Connection error"


def trouble_of_exception(name: str, said: str) -> Trouble | None:
    """What an exception means, by its name, then by the status in what it says."""
    known = _TROUBLES.get(name)
    if known is Trouble.RATE_LIMIT and "quota" in said.lower():
        return Trouble.BILLING
    if known is Trouble.SERVER and _LOST in said:
        return Trouble.CONNECTION
    if known is not None or name != "APIError":
        return known
    status = _STATUS.search(said)
    return trouble_of_status(int(status[1])) if status else None
