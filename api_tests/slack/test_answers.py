"""Questions as people type them, answered through signed requests into the real application."""

from __future__ import annotations

import pytest

from api_tests.slack.workspace import text_of
from planner.services.questions.sizing import size_document

PLAN = "llama-3.1-8b on 1 h100, fp8, 1k in 200 out, 16 clients at $2/h"


def test_a_command_is_answered_with_the_plans_own_figures(play):
    async def story(person):
        answer = await person.command(PLAN)
        blocks = answer["blocks"]
        assert blocks[0]["type"] == "header"
        assert blocks[0]["text"]["text"].startswith("Fits")
        image = next(b for b in blocks if b["type"] == "image")
        assert image["alt_text"].startswith("Fits")
        parsed = person.planner.grammar.read(PLAN)
        reply = person.planner.answering.reply(parsed)
        plan = (await person.client.post("/v1/plan", json=dict(reply.outcomes[0].document))).json()
        shown = text_of(blocks)
        for figure in reply.figures:
            value = plan
            for step in figure.path.split("."):
                value = value[step]
            assert value == pytest.approx(figure.value, rel=1e-12)
            assert figure.text in shown
        assert "meta-llama/llama-3.1-8b" in shown
        assert "16 in flight" in shown

    play(story)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("does llama-3.1-8b fit on one l4", "Yes, it fits"),
        ("qwen3-32b on one l4 bf16 fits?", "Does not fit"),
        ("best batch for llama-3.1-8b on h100", "Memory holds"),
        ("h100 vs l40s for llama-3.1-8b", " is cheapest"),
        ("cost per million of llama-3.1-8b on 1 l40s at 1/h vs $0.2 per 1M api", "per million output tokens"),
        ("why is llama-3.1-8b slow on l4", "bound"),
        ("how many l40s for llama-3.1-8b at 5 rps, 1k in 200 out", "replica"),
        ("dsv3 fp8 on 8 a100", "no fp8 units"),
    ],
)
def test_every_intent(play, text, first):
    async def story(person):
        answer = await person.command(text)
        assert first in answer["text"]

    play(story)


def test_help_examples_and_out_of_scope(play):
    async def story(person):
        assert "Ask about LLM serving capacity" in text_of((await person.command("help"))["blocks"])
        assert "Ask about" in text_of((await person.command(""))["blocks"])
        assert (await person.command("tell me a joke"))["text"] == "Out of scope"
        hostile = await person.command("<!channel> llama-3.1-8b on 1 h100 *FREE* <http://evil.example|click here>")
        assert "evil" not in text_of(hostile["blocks"])

    play(story)


def test_a_thread_keeps_its_context(play):
    async def story(person):
        first = await person.say("llama-3.1-8b on 1 h100, 16 clients", stamp="111.1")
        assert first["thread"] == "111.1"
        second = await person.say("and with fp8?", thread="111.1", mention=False)
        assert "weights fp8" in text_of(second["blocks"])
        third = await person.say("why?", thread="111.1")
        assert "bound" in third["text"]
        count = len(person.workspace.messages)
        await person.say("lunch?", thread="999.9", mention=False)
        await person.say("llama-3.1-8b on an h100", mention=False)
        assert len(person.workspace.messages) == count
        assert "What I can answer" in (await person.say(""))["text"]
        direct = await person.say("phi-4 on l40s", mention=False, direct=True)
        assert direct["channel"] == "D0ONE"

    play(story)


def test_what_is_missing_is_asked_once_and_the_form_answers(play):
    async def story(person):
        asked = await person.command("mixtral on 2 a100, 1k in 400 out, 24 clients")
        blocks = asked["blocks"]
        options = next(b for b in blocks if b.get("block_id") == "model")["element"]["options"]
        assert {o["value"] for o in options} == {"mistralai/mixtral-8x7b-v0.1", "mistralai/mixtral-8x22b-v0.1"}
        assert not any(b.get("block_id") in {"input_tokens", "output_tokens", "concurrency"} for b in blocks)
        state = {"model": {"value": {"type": "static_select", "selected_option": options[0]}}}
        answer = await person.press(blocks, "form", state=state)
        assert answer["replace_original"] is True
        assert options[0]["value"] in text_of(answer["blocks"])
        unknown = await person.command("claude opus on 8 h100, 32 clients")
        assert "claude opus" in text_of(unknown["blocks"])
        assert "is not in the catalogue" in text_of(unknown["blocks"])
        people = await person.command("customer says 500 users. how many gpus goes in the proposal?")
        shown = [b.get("block_id") for b in people["blocks"]]
        assert {"model", "share", "input_tokens", "output_tokens", "budget_usd"} <= set(shown)
        state = {
            "model": {"value": {"selected_option": {"value": "meta-llama/llama-3.1-8b"}}},
            "share": {"value": {"type": "number_input", "value": "0.05"}},
        }
        sized = await person.press(people["blocks"], "form", state=state)
        assert "25 in flight" in text_of(sized["blocks"])

    play(story)


def test_buttons_edit_the_same_message(play):
    async def story(person):
        blocks = (await person.command("llama-3.1-8b on 1 h100, 16 clients"))["blocks"]
        button = next(e for b in blocks if b["type"] == "actions" for e in b["elements"] if e["action_id"] == "open")
        assert button["url"].startswith("https://planner.example/?model=meta-llama")
        blocks = (await person.press(blocks, "edit:fp8"))["blocks"]
        assert "weights fp8" in text_of(blocks)
        blocks = (await person.press(blocks, "edit:context"))["blocks"]
        assert "prompt 2,000" in text_of(blocks)
        menu = next(e for b in blocks if b["type"] == "actions" for e in b["elements"] if e["action_id"] == "edit:sku")
        usual = [sku.id for sku in person.planner.grammar.vocabulary.usual_skus()]
        assert [option["value"] for option in menu["options"]] == usual[:100]
        blocks = (await person.press(blocks, "edit:sku", choose="l40s-48gb"))["blocks"]
        assert "1 × l40s-48gb" in text_of(blocks)
        assert "bound" in (await person.press(blocks, "edit:why"))["text"]
        assert "per million" in (await person.press(blocks, "edit:cost"))["text"]
        assert "Assumptions" in (await person.press(blocks, "more", choose="assumptions"))["text"]
        assert "replica" in (await person.press(blocks, "more", choose="size"))["text"]
        shared = await person.press(blocks, "share")
        assert shared["response_type"] == "in_channel"
        assert not any(b["type"] == "actions" for b in shared["blocks"])

    play(story)


def test_a_forgotten_answer_says_so(play):
    async def story(person):
        blocks = (await person.command("llama-3.1-8b on 1 h100"))["blocks"]
        for block in blocks:
            if block["type"] == "actions":
                block["block_id"] = "answer gone"
                for element in block["elements"]:
                    if element["type"] == "button":
                        element["value"] = "gone"
        assert "too old" in (await person.press(blocks, "edit:fp8"))["text"]

    play(story)


def test_a_sizing_is_the_services_own(play):
    async def story(person):
        text = "how many h100 for llama-3.1-8b at 50 rps, 1k in 300 out, ttft p95 &lt; 1s"
        answer = await person.command(text)
        parsed = person.planner.grammar.read(text)
        reply = person.planner.answering.reply(parsed)
        document = size_document(parsed.parse, parsed.parse["skus"])
        size = (await person.client.post("/v1/size", json=document)).json()
        assert [o["gpus"] for o in size["options"]] == [o["gpus"] for o in reply.sizing["options"]]
        assert size["options"][0]["ttft_s"] == pytest.approx(reply.sizing["options"][0]["ttft_s"], rel=1e-12)
        assert answer["text"].startswith(f"{size['options'][0]['gpus']} × h100-sxm-80gb")

    play(story)
