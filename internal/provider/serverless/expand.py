"""Expands a template of the AWS Serverless Application Model with AWS's own translator.

The standard input has the event of a macro. The standard output gets one object: the fragment, the error of the
translator, or why it cannot be imported; nothing if it is not installed.
"""

import sys

sys.path[:] = [place for place in sys.path if place]  # not the current directory

import json
import os


def main():
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # a warning must not mix with the result
    try:
        from samtranslator.model.exceptions import InvalidDocumentException
        from samtranslator.translator.managed_policy_translator import ManagedPolicyLoader
        from samtranslator.translator.transform import transform
    except ImportError as error:
        installed = error.name != "samtranslator"
        return write(out, {"broken": str(error)} if installed else {})

    class NoManagedPolicies(ManagedPolicyLoader):
        """The translator has a list of AWS's policies. Others would need a call of IAM."""

        def load(self):
            return {}

    event = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    fragment = event["fragment"]
    declared = fragment.get("Parameters") or {}
    values = {
        name: value
        for name, value in (event.get("templateParameterValues") or {}).items()
        if not secret(declared.get(name))
    }
    try:
        write(out, {"fragment": transform(fragment, values, NoManagedPolicies(None))})
    except InvalidDocumentException as error:
        causes = [cause.message for cause in error.causes]
        write(out, {"error": " ".join([error.message] + sorted(causes))})


def secret(parameter):
    """Tells whether the value of a parameter must not get into the template."""
    return isinstance(parameter, dict) and str(parameter.get("NoEcho", "")).lower() == "true"


def write(out, result):
    json.dump(result, out)
    out.close()


main()
