"""The one-page report's charts."""

import re

from planner.tests.cli.test_procurement import asked


def test_use_is_drawn_over_a_whole_week_and_a_flat_week_is_called_flat(tmp_path, capsys):
    pages = []
    for shape in ("", "peak_to_mean = 1.7\nweekly_shape = [1, 1, 1, 1, 1, 0.4, 0.3]\n"):
        path, page = tmp_path / "s.toml", tmp_path / "page.html"
        path.write_text('currency = "USD"\nhorizon_months = 6\nmonths_per_period = 3\n[candidates]\nskus = ["h100"]\n'
                        '[[workloads]]\nmodel = "llama-3.1-8b"\ninput_tokens = 500\noutput_tokens = 100\n'
                        f'[workloads.demand]\nrequest_rate = 20\ngrowth_per_month = 0.02\n{shape}')
        answer = asked(capsys, "fleet", str(path), "--html", str(page))
        assert {len(use["hours"]) for use in answer["plan"]["utilization_by_hour"]} == {168}
        text = page.read_text()
        pages.append(text[text.index("Use of capacity over a week"):])
    for page in pages:
        assert re.search(r'class="mid">144<.*class="mid">168<', page)
    assert "main, period 1: flat at" in pages[0]
    assert "flat at" not in pages[1].split("</div>")[0]
    assert pages[1].count(",") > pages[0].count(",") + 300
