"""The rubric of an imported study, with the criteria that its table names."""

from annotation.models import Criterion, Rubric, Study
from annotation.rubrics.scales import Rules, describe, level, number_in, read_value
from core.db.created_rows import note_changed, note_created
from core.messages.message import Wording
from core.tables.bad_rows import Place

NO_SUCH = Wording("criteria.no_such", "study %(study)s has no criterion %(criterion)s")
CRITERIA_ARE = Wording("criteria.criteria_are", "its criteria are %(known)s")
LONG_CRITERION = Wording("criteria.long_criterion", "the criterion %(criterion)s... is too long")
KEEP_TO = Wording("criteria.keep_to", "keep to %(most)s characters")
OTHER_SCALE = Wording("criteria.other_scale", "%(criterion)s has the scale %(scale)s in this study")
THAT_SCALE = Wording("criteria.that_scale", "give that scale or none")

LONGEST_CRITERION = 100
NO_SCALE = Wording("answers.no_scale", "%(criterion)s has numbers and no scale")
GIVE_SCALE = Wording("answers.give_scale", "give one with --scale %(criterion)s=1:6, or --scale '*=1:6' for all")


def own_key(study: Study) -> str:
    return f"study-{study.slug}"


def own_rubric(study: Study) -> Rubric:
    rubric, made = Rubric.objects.get_or_create(
        workspace=study.workspace, key=own_key(study), study=study, defaults={"names": study.names}
    )
    note_created([rubric] if made else [])
    return rubric


class OwnRubric:
    """A study's own rubric, which grows by the criteria that a table names."""

    def __init__(self, study: Study, rules: Rules) -> None:
        self.study, self.rules = study, rules
        known = Rubric.objects.filter(study=study, key=own_key(study)).prefetch_related("criteria").first()
        self.rubric: Rubric | None = known
        self.by_key = {criterion.key: criterion for criterion in known.criteria.all()} if known else {}
        self._grown: set[str] = set()

    def criterion(self, place: Place, key: str, value: str) -> Criterion:
        """The criterion, created at its first value. Raises BadRow for numbers without a scale."""
        if self.rules.truth:
            return self._asked(place, key)
        known = self.by_key.get(key)
        scale = self.rules.scale_of(key)
        if known is not None:
            if scale is not None and not scale.fits(known):
                raise place.bad(OTHER_SCALE(criterion=key, scale=describe(known)), THAT_SCALE())
            if scale is None and value and self._grows(known) and read_value(known, value) is None:
                note_changed(known, {"levels": list(known.levels)})
                known.levels.append(level(value, float(len(known.levels))))
                self._grown.add(key)
            return known
        if len(key) > LONGEST_CRITERION:
            raise place.bad(LONG_CRITERION(criterion=repr(key[:30])), KEEP_TO(most=LONGEST_CRITERION))
        if scale is None and (not value or number_in(value) is not None):
            raise place.bad(NO_SCALE(criterion=key), GIVE_SCALE(criterion=key))
        role = Criterion.Role.OVERALL if key == self.rules.overall else Criterion.Role.ITEM
        fields = scale.as_fields() if scale else {"levels": [level(value, 0.0)]}
        self.rubric = self.rubric or own_rubric(self.study)
        self.by_key[key] = Criterion.objects.create(
            rubric=self.rubric, key=key, role=role, position=len(self.by_key), questions={"en": key}, **fields
        )
        note_created([self.by_key[key]])
        return self.by_key[key]

    def _asked(self, place: Place, key: str) -> Criterion:
        """The criterion that a correct answer is about: the only one, whatever the column is called. Raises BadRow."""
        if key in self.by_key:
            return self.by_key[key]
        if len(self.by_key) == 1:
            return next(iter(self.by_key.values()))
        known = ", ".join(self.by_key) or "none"
        raise place.bad(NO_SUCH(study=self.study.slug, criterion=repr(key)), CRITERIA_ARE(known=known))

    @staticmethod
    def _grows(criterion: Criterion) -> bool:
        """Add a level to labels that were valued 0, 1, 2, ... in order of appearance."""
        labels = [number_in(str(one["key"])) for one in criterion.levels]
        return bool(labels) and all(label is None for label in labels)

    def save(self) -> None:
        for key in self._grown:
            self.by_key[key].save(update_fields=["levels"])
