"""A model that answers from scripts, to run real clients without a provider.

``python -m trialbook.testing.scripted_model SCRIPTS... --port 8793`` serves Anthropic's Messages,
OpenAI's Chat Completions and Responses, and Gemini's generateContent on the loopback address,
streamed and whole. What it answers was written by a person beforehand: it shows that a client and
everything around it works, and nothing about any model.

A file of scripts is JSON: a model's name to its steps, so that the name picks the scenario; or to a
list of ``{"when": words, "steps": [...]}``, of which the first counts whose words stand in the
request. Which step is next follows from the request alone: it is the number of answers in its
history, at most the last step. So trying again uses up nothing, and a script of one step goes on
for ever. A model without a script gets that of ``default``; a request that no script is for is
answered with an error.

A step may have ``text``, ``json``, ``tools`` ([{name, input}], or {name, raw} for one that takes
plain text), ``usage`` ({in, out, cache_read, cache_write, reasoning}), ``stop``, ``sleep`` (seconds
before it answers), ``hang`` (seconds in the middle of the answer), and ``status`` with ``body`` for
an error. Of a script with tools, a request that offers none (for a title, say) gets "ok".
"""

from __future__ import annotations

from trialbook.testing.scripted_model.scripts import ScriptError, Scripts, read_scripts
from trialbook.testing.scripted_model.server import ScriptedModel

__all__ = ["ScriptError", "ScriptedModel", "Scripts", "read_scripts"]
