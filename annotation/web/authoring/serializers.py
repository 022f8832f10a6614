"""The shapes in which the API sends and takes checklists that members of a workspace write together."""

from typing import Any

from rest_framework import serializers

from annotation.models import Checklist


class ChecklistSerializer(serializers.ModelSerializer[Checklist]):
    """A checklist that members of a workspace write together."""

    id = serializers.CharField(source="public_id")
    workspace = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True)
    benchmark = serializers.CharField(source="benchmark.slug", default=None)

    class Meta:
        model = Checklist
        fields = [
            "id",
            "workspace",
            "benchmark",
            "names",
            "stage",
            "votes_each",
            "keeps",
            "scale",
            "overall",
            "created_at",
        ]


class ProposalSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    explanation = serializers.CharField()
    own = serializers.BooleanField()
    criterion = serializers.IntegerField(allow_null=True, help_text="The criterion into which it is merged.")


class MergedCriterionSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    explanation = serializers.CharField()
    votes = serializers.IntegerField(allow_null=True, help_text="Null until the vote is closed.")
    certain = serializers.BooleanField(help_text="Whether it stays in any case.")
    tied = serializers.BooleanField(help_text="Whether it ties for the last places.")
    kept = serializers.BooleanField(allow_null=True)


class ObjectionSerializer(serializers.Serializer[Any]):
    comment = serializers.CharField()
    by = serializers.CharField()


class WrittenQuestionSerializer(serializers.Serializer[Any]):
    criterion = serializers.IntegerField()
    id = serializers.IntegerField(allow_null=True, help_text="Of this version of the question; null where it has none.")
    en = serializers.CharField()
    zh = serializers.CharField()
    source = serializers.CharField(  # type: ignore[assignment]
        help_text="Who wrote it: typed, model or edited."
    )
    model = serializers.CharField()
    own = serializers.BooleanField(help_text="Whether you wrote it, so that somebody else has to review it.")
    draft_en = serializers.CharField(help_text="What a model drafted, for leads.")
    draft_zh = serializers.CharField()
    sound = serializers.IntegerField(help_text="Number of people who call it sound.")
    objections = ObjectionSerializer(many=True)


class PeopleSerializer(serializers.Serializer[Any]):
    """How many people did something, and the names of those whose accounts are here."""

    number = serializers.IntegerField()
    names = serializers.ListField(child=serializers.CharField())


class ParticipantsSerializer(serializers.Serializer[Any]):
    proposers = PeopleSerializer()
    voters = PeopleSerializer()
    reviewers = PeopleSerializer()


class StepSerializer(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    by = serializers.CharField()
    what = serializers.CharField()


class ChecklistStateSerializer(ChecklistSerializer):
    """A checklist with what you may see of its present stage."""

    categories = serializers.ListField(child=serializers.CharField())
    leads = serializers.BooleanField()
    takes_part = serializers.BooleanField()
    proposals = ProposalSerializer(many=True)
    number_of_proposals = serializers.IntegerField()
    criteria = MergedCriterionSerializer(many=True)
    voted = serializers.BooleanField(allow_null=True, help_text="Whether you have voted; null outside the vote.")
    choice_reason = serializers.CharField()
    questions = WrittenQuestionSerializer(many=True)
    drafting_run = serializers.CharField(allow_null=True, help_text="The generation run that drafts questions.")
    rubrics = serializers.ListField(child=serializers.CharField(), help_text="Keys, once it is done.")
    participants = ParticipantsSerializer()
    steps = StepSerializer(many=True)

    class Meta(ChecklistSerializer.Meta):
        fields = [
            *ChecklistSerializer.Meta.fields,
            "categories",
            "leads",
            "takes_part",
            "proposals",
            "number_of_proposals",
            "criteria",
            "voted",
            "choice_reason",
            "questions",
            "drafting_run",
            "rubrics",
            "participants",
            "steps",
        ]


class WantedChecklistSerializer(serializers.Serializer[Any]):
    """A checklist to be started; what is left out is the default of its page."""

    name_en = serializers.CharField(required=False, allow_blank=True, max_length=150)
    name_zh = serializers.CharField(required=False, allow_blank=True, max_length=150)
    benchmark = serializers.CharField(required=False, allow_blank=True, help_text="Slug; default: for any study.")
    categories = serializers.ListField(child=serializers.CharField(), required=False, help_text="Keys; default: all.")
    keeps = serializers.IntegerField(default=6, help_text="Criteria that stay after the vote: 4 to 6.")
    votes_each = serializers.IntegerField(default=6, help_text="Votes for each person: 1 to 20.")
    scale = serializers.ChoiceField(choices=Checklist.Scale.choices, default=Checklist.Scale.YES_NO)
    overall = serializers.BooleanField(default=True, help_text="Also ask for an overall score from 0 to 10.")


class WantedCriterionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="A word or two.")
    explanation = serializers.CharField(help_text="What a good response does.")


class MadeProposalSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    explanation = serializers.CharField()


class WantedWordingSerializer(serializers.Serializer[Any]):
    criterion = serializers.IntegerField()
    name = serializers.CharField()
    explanation = serializers.CharField()


class WantedPlaceSerializer(serializers.Serializer[Any]):
    proposal = serializers.IntegerField()
    criterion = serializers.IntegerField(allow_null=True, help_text="Null for a criterion of its own.")


class WantedGroupsSerializer(serializers.Serializer[Any]):
    """What changes; what is left out stays as it is."""

    wordings = WantedWordingSerializer(many=True, required=False)
    places = WantedPlaceSerializer(many=True, required=False)


class WantedBallotSerializer(serializers.Serializer[Any]):
    choices = serializers.ListField(child=serializers.IntegerField(), help_text="Criteria, at most `votes_each`.")


class WantedChoiceSerializer(serializers.Serializer[Any]):
    """Which of the criteria that tie for the last places stay, and why; neither where none tie."""

    chosen = serializers.ListField(child=serializers.IntegerField(), required=False, default=list)
    reason = serializers.CharField(required=False, allow_blank=True, default="")


class WantedQuestionSerializer(serializers.Serializer[Any]):
    criterion = serializers.IntegerField()
    en = serializers.CharField(required=False, allow_blank=True)
    zh = serializers.CharField(required=False, allow_blank=True)


class WantedTextsSerializer(serializers.Serializer[Any]):
    questions = WantedQuestionSerializer(many=True, allow_empty=False)


class WantedQuestionReviewSerializer(serializers.Serializer[Any]):
    question = serializers.IntegerField(help_text="The id of the version that you read.")
    sound = serializers.BooleanField()
    comment = serializers.CharField(required=False, allow_blank=True, default="")


class WantedReviewsSerializer(serializers.Serializer[Any]):
    reviews = WantedQuestionReviewSerializer(many=True, allow_empty=False)


class WantedDraftsSerializer(serializers.Serializer[Any]):
    model = serializers.CharField(help_text="Name of a model with an endpoint.")
    budget_calls = serializers.IntegerField(required=False, allow_null=True)
    budget_tokens = serializers.IntegerField(required=False, allow_null=True)
    budget_money = serializers.DecimalField(required=False, allow_null=True, max_digits=12, decimal_places=6)


class DraftingRunSerializer(serializers.Serializer[Any]):
    run = serializers.CharField(help_text="The generation run; read its progress at generation/ID/.")
    job = serializers.CharField()
