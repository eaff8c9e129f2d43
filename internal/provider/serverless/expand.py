"""Expands a template of the AWS Serverless Application Model (SAM) with AWS's own translator.

The standard input is the event of a macro. The standard output receives one object: the fragment, the error of the
translator, or why the translator cannot be imported. It receives an empty object if the translator is not installed.
"""

import sys

sys.path[:] = [place for place in sys.path if place]  # not the current directory

import json
import os


def main():
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # a warning must not mix with the result
    try:
        result = expand(json.loads(sys.stdin.buffer.read().decode("utf-8")))
        text = json.dumps(result, allow_nan=False)
    except Exception as error:  # for example a number that JSON does not have
        text = json.dumps({"error": "%s: %s" % (type(error).__name__, error)})
    out.write(text)
    out.close()


def expand(event):
    try:
        from samtranslator.model.exceptions import InvalidDocumentException
        from samtranslator.translator.managed_policy_translator import ManagedPolicyLoader
        from samtranslator.translator.transform import transform
    except ModuleNotFoundError as error:
        return {} if error.name == "samtranslator" else {"broken": str(error)}
    except Exception as error:  # for example a library for another version of Python
        return {"broken": "%s: %s" % (type(error).__name__, error)}

    class NoManagedPolicies(ManagedPolicyLoader):
        """The translator has a list of AWS's policies. Other policies would require a call to IAM."""

        def load(self):
            return {}

    fragment = event["fragment"]
    application = next(repository_applications(fragment), None)
    if application:
        return {
            "error": "Resource with id [%s] is invalid. Pintle cannot fetch applications from the Serverless Application "
            "Repository: use the URL of a template as its Location." % application
        }
    # The translator uses the default of a parameter that has no value. With a secret value, it must keep the Ref.
    defaults = {}
    for name, parameter in members(fragment.get("Parameters")):
        if isinstance(parameter, dict) and str(parameter.get("NoEcho", "")).lower() == "true" and "Default" in parameter:
            defaults[name] = parameter.pop("Default")
    try:
        made = transform(fragment, event.get("templateParameterValues") or {}, NoManagedPolicies(None))
    except InvalidDocumentException as error:
        causes = [cause.message for cause in error.causes]
        return {"error": " ".join([error.message] + sorted(causes))}
    for name, default in defaults.items():
        made["Parameters"][name]["Default"] = default
    return {"fragment": made}


def repository_applications(fragment):
    """Yields the logical IDs of applications whose template is in the Serverless Application Repository."""
    for name, resource in members(fragment.get("Resources")):
        if isinstance(resource, dict) and resource.get("Type") == "AWS::Serverless::Application":
            properties = resource.get("Properties")
            if isinstance(properties, dict) and isinstance(properties.get("Location"), dict):
                yield name


def members(section):
    return list(section.items()) if isinstance(section, dict) else []


main()
