"""Sentences of the program one after another: no blank after a Chinese full stop, one after an English stop."""

import pytest
from django.template import engines


def rendered(source, **context):
    return engines["django"].from_string("{% load i18n sentences %}" + source).render(context)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("共 3 个。 至少 2 个。", "共 3 个。至少 2 个。"),
        ("真的吗？\n  是的。", "真的吗？是的。"),
        ("3 in all. At least 2.", "3 in all. At least 2."),
        (None, ""),
    ],
)
def test_sentences_close_up_after_a_full_width_stop(said, shown):
    assert rendered("{{ said|closed_up }}", said=said) == shown


def test_a_part_of_a_page_closes_up_and_stays_escaped():
    source = "{% closed_up %}\n{{ first }}\n{% if more %}\n{{ more }}\n{% endif %}\n{% end_closed_up %}"
    assert "共 3 个。&lt;b&gt; 2 个。" in rendered(source, first="共 3 个。", more="<b> 2 个。")
    assert "。 <a" in rendered("{% closed_up %}共 3 个。 <a href='/'>看</a>{% end_closed_up %}")
