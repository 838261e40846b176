"""The privacy card: the guarantee and its conditions, for the person who has to approve a publication."""

import math
from collections import Counter
from dataclasses import dataclass

from graphveil.released.grouped import GroupedRelease
from graphveil.released.merged import MergedRelease
from graphveil.released.release import Release
from graphveil.spec.augmentation import Constant, Labels
from graphveil.spec.domain import Domain
from graphveil.spec.events import ReleaseEvent
from graphveil.spec.rounding import format_exact, format_round_up

__all__ = ["PrivacyCard", "guess_accuracy", "max_guess_accuracy", "privacy_card"]


@dataclass(frozen=True)
class PrivacyCard:
    """Sentences about a release.

    Attributes
    ----------
    private : bool
        False if nothing is guaranteed, because the noise was seeded.
    headline : str
        The guarantee.
    facts : tuple of pairs of str
        Headings and their text.
    """

    private: bool
    headline: str
    facts: tuple[tuple[str, str], ...]


def max_guess_accuracy(event: ReleaseEvent) -> tuple[float, float]:
    """How often a guess between two possible persons can be right: by (ε, δ) alone, and by the noise that was added.

    By tossing a coin it is right half of the time. (ε, δ) allows (e^ε + δ)/(1 + e^ε) (Kairouz, Oh and Viswanath 2015),
    μ-GDP with lattice term η allows Φ(μ/2) + η.
    """
    if event.seeded:
        return 1.0, 1.0
    epsilon = event.proven_epsilon
    # (e^ε + δ)/(1 + e^ε) without overflow
    promised = 1.0 - (1.0 - event.budget.delta) / (1.0 + math.exp(epsilon)) if epsilon < 700.0 else 1.0
    added = guess_accuracy(event.mu) + event.eta
    return promised, min(added, promised)


def guess_accuracy(mu: float) -> float:
    """Φ(μ/2): how often a guess between two possible persons can be right under μ-GDP."""
    return 0.5 * math.erfc(-mu / 2.0 / math.sqrt(2.0))


def privacy_card(release: Release | GroupedRelease) -> PrivacyCard:
    """The card of a release, or of the releases of several groups together."""
    event = release.event
    one = _one_of(release)
    facts = [
        ("What it means", _describe_meaning(event)),
        ("Who is protected", _describe_people(one)),
        ("Against what", _describe_neighbours(one)),
        ("What the publisher is responsible for", _describe_assumptions(one)),
        ("What was released", _describe_answers(release)),
        (
            "What was not released",
            "No record, and no exact number computed from records: no sum, minimum or maximum, no count of clipped or "
            "missing values. Everything shown here is computed from the noisy numbers.",
        ),
        ("What it covers", "The release file, this card, and anything that anybody ever computes from them."),
        ("What is not guaranteed", _describe_limits(event)),
        ("Public facts", _describe_public_facts(release)),
        ("Other releases", _describe_charge(event)),
        ("Seeded", _describe_seed(event)),
        ("Mechanism", _describe_mechanism(one)),
        ("Made with", ", ".join(f"{name} {version}" for name, version in sorted(one.versions.items()))),
        (
            "Fingerprint",
            f"SHA-256 {release.checksum} of the release's content; `graphveil show FILE` prints it for any release "
            "file. It detects damage or a mix-up; it is not a signature.",
        ),
    ]
    return PrivacyCard(not event.seeded, release.guarantee, tuple(facts))


def _describe_people(release: Release) -> str:
    whom = "Every person" if _records_of_one(release) == "one record" else "Every person, with all of their records"
    if release.event.by_person:
        return f"{whom}, however many there are."
    return f"{whom}, as long as nobody has more than {_records_of_one(release)}."


def _describe_neighbours(release: Release) -> str:
    whose = "the record" if _records_of_one(release) == "one record" else "all records"
    if release.event.neighbours == "add-remove":
        return (
            f"Adding or removing {whose} of one person. Even somebody who knows all other records can hardly tell from "
            "the output whether the person is in the data at all."
        )
    within = " of the same group" if release.event.groups else ""
    return (
        f"Replacing {whose} of one person by any others{within}. Even somebody who knows all other records can hardly "
        f"tell from the output which of the two data sets it came from."
    )


def _records_of_one(release: Release) -> str:
    """The most that the guarantee allows one person to have."""
    rows = release.event.rows_per_person
    count = "one record" if rows == 1 else f"{rows} records"
    if release.event.by_person:
        count = "all their records"
    if not isinstance(release, MergedRelease):
        return count
    allowed = [part.event.rows_per_person for part in release.parts]
    if len(set(allowed)) > 1:
        count = f"{', '.join(map(str, allowed[:-1]))} or {allowed[-1]} records (depending on the site)"
    sites, of = release.merged_event.sites_per_person, len(release.parts)
    return f"{count} at each of {sites} of the {of} sites" if sites > 1 else f"{count}, at one of the {of} sites"


def _describe_meaning(event: ReleaseEvent) -> str:
    if event.seeded:
        return "Nothing is guaranteed: whoever knows the seed can subtract the noise."
    epsilon, delta = event.proven_epsilon, event.budget.delta
    promised, added = max_guess_accuracy(event)
    odds = str(math.ceil(100.0 * math.exp(epsilon)) / 100.0) if epsilon < 12.0 else f"e^{format_round_up(epsilon, 3)}"
    which = "records" if event.rows_per_person == 1 and not event.by_person else "sets of records"
    guess = f"which of two {which} a person has"
    if event.neighbours == "add-remove":
        guess = "whether a person is in the table"
    return (
        f"An attacker who knows the records of everybody else, and has to guess {guess}, "
        f"is right at most {_up(added)} times in 1,000 after seeing this release, instead of 500 by tossing a coin. "
        f"(ε = {format_round_up(epsilon, 6)} and δ = {format_exact(delta)} alone would allow {_up(promised)}; they "
        f"also limit the rise in the odds of any guess to a factor of {odds}, except with probability δ.)"
    )


def _up(share: float) -> int:
    """Times in a thousand, rounded up: a guarantee must not look better than it is."""
    return min(math.ceil(share * 1000.0), 1000)


def _describe_assumptions(release: Release) -> str:
    limits = "the bounds" if release.domain.bounds is not None else "the bound of the norm"
    chosen = "the columns" if release.norm_is_private else f"{limits}, the columns"
    if release.domain.weight is not None:
        chosen = f"{limits}, the largest weight, the columns"
    people = f"nobody has more than {_records_of_one(release)}"
    if release.event.by_person:
        people = "everybody has one id, and nobody shares it"
    return (
        f"The software cannot check that {chosen} and any exclusion of records were chosen without looking at these "
        f"records; nor that {people}; nor that a ledger contains every other "
        "release about these people. Ask who is responsible for this, and where each bound comes from."
    )


def _describe_limits(event: ReleaseEvent) -> str:
    if event.seeded:
        return "Anything."
    count = (
        f"The number of {event.counted} is not hidden: if being in the table is itself sensitive, consider that first."
    )
    if event.neighbours == "add-remove":
        count = "Which of two records a person in the table has is protected less than membership: by twice μ."
    elif event.groups:
        count = f"Who belongs to the group {' or '.join(event.groups)} is not hidden. {count}"
    return (
        f"{count} A group (a family, a ward) is protected less than one person. General facts can be learned, and "
        "apply to people outside the data too. This is not a legal determination of anonymity."
    )


def _describe_answers(release: Release | GroupedRelease) -> str:
    counts: Counter[str] = Counter()
    rounds = [answer for part in _parts(release) for answer in part.answers]
    for answer in rounds:
        counts[answer.query.description] += sum(values.size for values in answer.values.values())
    parts = "; ".join(f"{what} ({count:,})" for what, count in counts.items())
    extra, augment = "", _one_of(release).augment
    if isinstance(augment, Labels):
        extra = " Class counts and class means are among them."
    elif isinstance(augment, Constant) and all(part.event.rounds == "one" for part in _parts(release)):
        extra = " The mean is among them."
    return f"{sum(counts.values()):,} noisy numbers in {len(rounds)} answers: {parts}.{extra}"


def _parts(release: Release | GroupedRelease) -> tuple[Release, ...]:
    """The releases of several sites or groups, or the only one."""
    return release.parts if isinstance(release, MergedRelease | GroupedRelease) else (release,)


def _one_of(release: Release | GroupedRelease) -> Release:
    """The first of several groups: all of them answer the same queries."""
    return release.parts[0] if isinstance(release, GroupedRelease) else release


def _describe_sources(domain: Domain) -> str:
    """For how many variables the codebook gives a source."""
    if domain.codebook is None:
        return ""
    count, silent = len(domain.codebook.names), len(domain.codebook.without_source)
    return f" (with a source for {count - silent} of {count} variables)" if silent < count else ""


def _describe_public_facts(release: Release | GroupedRelease) -> str:
    domain = _one_of(release).domain
    counts = [f"{part.n_samples:,}" for part in _parts(release)]
    of = f"of {release.event.counted}"
    records = f"number {of}, {counts[0]}" if len(counts) == 1 else f"numbers {of}, {' and '.join(counts)}"
    hidden = release.event.neighbours == "add-remove"
    known = [] if hidden else [f"the {records}"]
    if release.event.groups and not hidden:
        known.append(f"who belongs to the group {' or '.join(release.event.groups)}")
    known.append(f"the {domain.n_features} columns and their names")
    if domain.bounds is not None:
        known.append(f"the bounds of each column, as declared{_describe_sources(domain)}")
    elif _one_of(release).norm_is_private:
        known.append("a bound on a record's norm, found with part of the budget")
    else:
        known.append("a bound on a record's norm, as declared")
    if domain.weight is not None:
        known.append(f"the largest weight of a record, {domain.weight.largest:g}, as declared")
    said = "; ".join(known)
    return f"{said[0].upper()}{said[1:]}."


def _describe_mechanism(release: Release) -> str:
    event = release.event
    if event.mechanism == "paper":
        proof = "" if event.keeps_budget else " It does not achieve the requested ε; the one shown holds."
        return f"Gaussian noise as in Algorithm 1 of Su, Guo and Zhang, classical calibration.{proof}"
    rounds = "one answer" if event.rounds == "one" else f"{len(release.answers)} answers in adaptive rounds, one charge"
    if isinstance(release, MergedRelease):
        rounds = f"{len(release.parts)} sites, each with its own release and charge"
    return (
        f"Discrete Gaussian noise on exact integer sums, analytic calibration; {rounds}. Records were clipped to "
        f"their bounds before being summed.{_describe_weighting(release.domain)}"
    )


def _describe_weighting(domain: Domain) -> str:
    if domain.weight is None:
        return ""
    return (
        f" Each counts by its weight, at most {domain.weight.largest:g}; sums are divided by the total weight, which "
        "was released with noise too."
    )


def _describe_seed(event: ReleaseEvent) -> str:
    if event.seeded:
        return "YES. The noise came from a known seed. This is a simulation, and nothing is private."
    return "No. The noise came from the operating system's entropy."


def _describe_charge(event: ReleaseEvent) -> str:
    if event.seeded:
        return "μ = ∞: on a ledger, a seeded release uses up the budget."
    four = 0.5 * math.erfc(-event.mu / math.sqrt(2.0)) + 4.0 * event.eta  # four times the same: twice μ
    return (
        "This card does not cover other releases about the same people. The publisher's ledger does: ask for its "
        "total. "
        f"This one counts as μ = {format_round_up(event.mu, 6)} of Gaussian differential privacy (lattice term "
        f"η = {format_round_up(event.eta, 2)}). "
        f"Releases add up in μ²: after four like this the attacker above is right at most {_up(four)} times in 1,000."
    )
