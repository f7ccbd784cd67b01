"""Profiles: what an experiment is instead on another machine, `[profiles.NAME]`.

A profile changes tables of the experiment, so that one question can be asked of a GPU and, with fewer and
shorter problems, of a processor.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError, create_model

from harness import plugins
from harness.system.validation import messages, shown, unknown_name

PROFILES = "profiles"
REPLACED = ("variants", "targets", "baseline", "params", "problems")
"""Keys that a profile replaces."""
CHANGED = ("problem", "check", "timing", "limits")
"""Tables that a profile changes key by key."""
CHANGED_BY_NAME = ("variant", "target", "figures")
"""Tables whose entries a profile replaces by their names."""
FIELDS: dict[str, Any] = dict.fromkeys(REPLACED, (Any, None))
FIELDS |= dict.fromkeys((*CHANGED, *CHANGED_BY_NAME), (dict[str, Any], {}))
Profile: Any = create_model("Profile", __config__=ConfigDict(extra="forbid"), **FIELDS)

SAME_FIELD = (("batch", "tokens"), ("heads", "hidden"), ("seq", "seq_q"), ("seq", "seq_kv"))
"""Keys of problems that set the same: where a profile has one of them, the other does not count."""


def profile_names(data: Mapping[str, Any]) -> list[str]:
    """Return the names of the profiles of an experiment's data."""
    profiles = data.get(PROFILES, {})
    return list(profiles) if isinstance(profiles, Mapping) else []


def mistakes_in_profiles(data: Mapping[str, Any]) -> list[str]:
    """Return a line for each profile that is no table, and for each of its keys that means nothing."""
    try:
        TypeAdapter(dict[str, Profile]).validate_python(data.get(PROFILES, {}))
    except ValidationError as error:
        return messages(error, PROFILES, Profile)
    return []


def unknown_profile(name: str, data: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the name of a profile that an experiment lacks; None where it has it."""
    profiles = profile_names(data)
    if not profiles:
        return f"--profile: found {shown(name)}, but this experiment has no profiles; expected no --profile"
    return None if name in profiles else f"--profile: {unknown_name('profile', name, profiles)}"


def with_profile(data: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    """Return the data of an experiment as a profile changes it, without profiles; None changes nothing.

    `data` is what TOML says, of which `mistakes_in_profiles` has nothing to say.  Settings of variants and
    targets that take no part in the profile are left out, also in figures.
    """
    changed = {key: value for key, value in data.items() if key != PROFILES}
    if name is None:
        return changed
    profile = data[PROFILES][name]
    for key in REPLACED:
        if key in profile:
            changed[key] = profile[key]
    for key in CHANGED:
        if key in profile:
            changed[key] = {**_without_rivals(_table(changed, key), profile[key]), **profile[key]}
    listed = {
        "variant": _names(changed.get("variants"), ()),
        "target": [plugins.name_of(target) for target in _names(changed.get("targets"), ("cpu",))],
    }
    for key in CHANGED_BY_NAME:
        kept = {
            entry: _of_variants(settings, listed["variant"]) if key == "figures" else settings
            for entry, settings in _table(changed, key).items()
            if key not in listed or entry in listed[key]
        }
        if key in changed or key in profile:
            changed[key] = {**kept, **profile.get(key, {})}
    return changed


def _table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = data.get(key, {})
    return table if isinstance(table, Mapping) else {}


def _of_variants(settings: Any, listed: Collection[str]) -> Any:
    """Return a figure's settings without the variants that take no part."""
    if not isinstance(settings, Mapping) or not isinstance(settings.get("variants"), list):
        return settings
    return {**settings, "variants": [name for name in settings["variants"] if name in listed]}


def _names(value: Any, default: Collection[str]) -> list[str]:
    listed: Iterable[Any] = value if isinstance(value, list | tuple) else default
    return [name for name in listed if isinstance(name, str)]


def _without_rivals(table: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table without the keys that set what a change sets by another key."""
    rivals = {rival for pair in SAME_FIELD for rival, other in (pair, pair[::-1]) if other in changes}
    return {key: value for key, value in table.items() if key not in rivals}
