"""What test_fuzz.py tells schemathesis about idempotency keys."""

import itertools
import re

import schemathesis

_KEY = re.compile(r"[\x21-\x7e]{1,200}")
_numbers = itertools.count()


@schemathesis.hook
def before_call(context, case, kwargs):
    """Make every usable key new: a repeated one answers what it made before, deleted in the meantime or not."""
    del context, kwargs
    key = (case.headers or {}).get("Idempotency-Key")
    if isinstance(key, str) and _KEY.fullmatch(key):
        case.headers["Idempotency-Key"] = f"{key[:190]}-{next(_numbers)}"
