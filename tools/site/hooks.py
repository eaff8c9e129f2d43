"""What the site needs beyond the pages: links into the repository, and the version in the header."""
import os
import posixpath
import re
import subprocess

LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")


def on_config(config):
    describe = ["git", "describe", "--tags", "--always"]
    version = os.environ.get("PINTLE_VERSION") or subprocess.check_output(describe, cwd=config["docs_dir"], text=True).strip()
    config["site_name"] = "Pintle " + version
    return config


def on_page_markdown(markdown, page, config, files):
    """Leads links that leave docs/, or name a folder in it, to the repository."""

    def leave(match):
        target = match[2]
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.file.src_uri), target))
        if path.startswith("docs/") and not os.path.isdir(os.path.join(config["docs_dir"], path[len("docs/"):])):
            return match[0]
        return match[1] + config["repo_url"] + "/blob/main/" + path + match[3]

    return LINK.sub(leave, markdown)
