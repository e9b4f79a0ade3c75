"""Scripts that let a shell complete commands, options and their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from cyclopts import App

Shell = Literal["bash", "zsh", "fish"]


def script(app: App, shell: Shell, *, nested: Mapping[str, App]) -> str:
    """Return the script with which a shell completes the command line *app*.

    Args:
        app: The whole command line.
        shell: The shell to write it for.
        nested: Commands with subcommands that are not registered in *app* itself.
    """
    whole = App(name=app.name, version_flags="--version")
    if app.meta.default_command is not None:
        whole.meta.default(app.meta.default_command)
    for name in app:
        if app[name].show and not name.startswith("-"):
            whole.command(nested.get(name, app[name]), name=name)
    return whole.generate_completion(shell=shell)
