"""The browser that the editor's tests use starts and runs scripts."""

import pytest


@pytest.mark.browser
def test_browser_runs_a_page(page):
    page.set_content("<p id=answer></p><script>answer.textContent = 6 * 7</script>")
    assert page.text_content("#answer") == "42"
