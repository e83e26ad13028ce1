"""The debugger in the browser, and what a finding shows of a deadlock and of a race."""

import pytest

TIES = """n => Bokeh.documents.some(d => d.get_model_by_name("warpdraft-timeline")?.renderers.some(r => {
  const data = r.data_source.data;
  return (data.get?.("align") ?? data.align)?.length === n }))"""

pytestmark = pytest.mark.browser


def test_the_debugger_steps_and_shows_where_each_warp_is(editor):
    editor.page.get_by_role("tab", name="Debugger").click()
    editor.page.locator(".warpdraft .warps li.blocked", has_text="owes").first.wait_for()
    editor.page.get_by_role("button", name="Step forward").click()
    editor.page.locator(".warpdraft .steps li b").first.wait_for()
    assert editor.page.locator(".warpdraft .chip.cursor").count() >= 2
    editor.page.get_by_role("button", name="Run to the next breakpoint").click()
    editor.page.locator(".warpdraft .debugger .said", has_text="every warp has ended").wait_for()


def test_a_witness_is_replayed(editor):
    editor.page.get_by_label("Open document").select_option("broken_deadlock.warpdraft.json")
    editor.page.locator(".warpdraft .verdict.unsafe").wait_for()
    editor.page.locator(".warpdraft .finding .what").first.click()
    editor.page.get_by_role("button", name="Replay").click()
    editor.page.locator(".warpdraft .debugger .said", has_text="stuck").wait_for()
    assert editor.page.locator(".warpdraft .warps li.blocked").count() >= 2


def test_a_walk_stops_at_an_operation_and_when_a_barrier_flips(editor):
    page = editor.page
    page.get_by_role("tab", name="Debugger").click()
    page.locator(".warpdraft .warps li").first.wait_for()
    op = editor.op("smem_ab.release")
    op.click()
    editor.press("b")
    mark = op.get_by_role("button", name="Take the breakpoint at")
    mark.wait_for()
    run = page.get_by_role("button", name="Run to the next breakpoint")
    said = page.locator(".warpdraft .debugger .said")
    run.click()
    page.locator(".warpdraft .debugger .said", has_text="break: math").wait_for()
    assert "comes to math." in said.inner_text()
    mark.click()
    mark.wait_for(state="detached")
    page.get_by_role("button", name="Break when full smem_ab[1] flips").click()
    run.click()
    page.locator(".warpdraft .debugger .said", has_text="break: full smem_ab[1] completes phase").wait_for()


def test_a_deadlock_shows_its_cycle_on_graph_and_lanes(editor):
    page = editor.page
    page.get_by_label("Open document").select_option("broken_deadlock.warpdraft.json")
    page.locator(".warpdraft .verdict.unsafe").wait_for()
    page.locator(".warpdraft .finding .what").first.click()
    page.get_by_role("button", name="show it in the timeline").click()
    page.wait_for_function(TIES, arg=2)
    label = page.locator(".warpdraft .drawing g.cycle").get_attribute("aria-label")
    assert "load waits for smem_ab, which math owes; math waits for smem_ab, which load owes" in label


def test_a_race_shows_its_two_intervals_and_the_order_that_is_missing(editor):
    page = editor.page
    editor.op("smem_ab.release").click()
    editor.edited(lambda: editor.press("Alt+ArrowUp"))
    editor.edited(lambda: editor.press("Alt+ArrowUp"))
    page.locator(".warpdraft .finding", has_text="WD403").locator(".what").click()
    page.get_by_role("button", name="show it in the timeline").click()
    page.wait_for_function(TIES, arg=1)
    assert not page.locator(".warpdraft .drawing g.cycle").count()
