"""What a person does in the editor, done in a real browser."""

import json
from dataclasses import replace

import pytest

from warpdraft.core import store
from warpdraft.core.edits import trees
from warpdraft.core.edits.base import with_bodies

pytestmark = pytest.mark.browser


def test_it_opens_on_a_safe_schedule_with_every_pane(editor):
    assert editor.verdict == "Safe"
    for pane in (
        "Resources",
        "Dependency graph",
        "Schedule",
        "Findings",
        "Details",
        "Timeline, code and runs",
    ):
        assert (
            editor.page.get_by_role("region", name=pane)
            .or_(editor.page.get_by_label(pane))
            .first.is_visible()
        )
    assert editor.ops("load")[1] == "smem_ab.acquire()"
    editor.page.locator(".warpdraft .tabs .summary", has_text="cycles").wait_for()


def test_a_move_by_key_makes_a_finding_and_undo_takes_it_back(editor):
    before = editor.ops("math")
    editor.op("acc.mma").click()
    editor.edited(lambda: editor.press("Alt+ArrowUp"))
    editor.edited(lambda: editor.press("Alt+ArrowUp"))
    assert editor.verdict == "Unsafe" and editor.codes()
    assert editor.ops("math")[0] == "acc.mma(tiles)"
    editor.edited(lambda: editor.press("Control+z"))
    editor.edited(lambda: editor.press("Control+z"))
    assert editor.verdict == "Safe" and not editor.codes() and editor.ops("math") == before
    editor.edited(lambda: editor.press("Control+Shift+Z"))
    assert editor.ops("math") != before


def test_a_drag_moves_an_operation(editor):
    editor.edited(lambda: editor.drag(editor.op("mma_group.wait(1)"), editor.op("acc.mma")))
    assert editor.ops("math")[2] == "mma_group.wait(1)"
    assert editor.verdict == "Unsafe"
    editor.page.locator(".warpdraft .finding .what").first.click()
    editor.page.locator(".warpdraft .explained").wait_for()
    editor.page.locator(".warpdraft .node.lit").first.wait_for()
    editor.edited(lambda: editor.press("Control+z"))
    assert editor.verdict == "Safe"


def test_stages_are_edited_in_place(editor):
    field = editor.page.get_by_label("stages of smem_ab")
    assert field.input_value() == "4"
    field.fill("3")
    editor.edited(lambda: field.press("Enter"))
    editor.page.locator(".warpdraft .drawing text", has_text="3 x 48 KiB").wait_for()
    assert editor.verdict == "Safe"
    editor.page.get_by_role("button", name="Undo").click()
    editor.page.locator(".warpdraft .drawing text", has_text="4 x 48 KiB").wait_for()
    assert field.input_value() == "4"


def test_a_value_that_makes_no_sense_is_told_and_not_taken(editor):
    field = editor.page.get_by_label("stages of smem_ab")
    field.fill("many")
    field.press("Enter")
    editor.page.locator(".warpdraft .notice.sev-error", has_text="whole number").wait_for()
    field.press("Escape")
    assert field.input_value() == "4"


def test_insert_and_delete(editor):
    before = editor.ops("math")
    editor.op("acc.mma").click()
    editor.press("i")
    editor.page.keyboard.type("sync_warp")
    editor.edited(lambda: editor.press("Enter"))
    after = editor.ops("math")
    assert after[after.index("acc.mma(tiles)") + 1] == "sync_warp()"
    editor.edited(lambda: editor.press("Delete"))
    assert editor.ops("math") == before


def test_deleting_a_release_is_found_and_explained(editor):
    editor.op("smem_ab.release", nth=0).click()
    editor.edited(lambda: editor.press("Delete"))
    assert editor.verdict == "Unsafe"
    editor.press("n")
    details = editor.page.get_by_label("Details")
    details.get_by_text("Why it hurts").wait_for()
    assert editor.page.locator(".warpdraft .drawing g.node.sev-error").count()


def test_split_the_load(editor):
    editor.page.locator(".warpdraft .column[data-task=load] .task-name").click()
    split = editor.page.get_by_role("form", name="Split load")
    split.locator("input[name=name]").fill("load_b")
    editor.edited(lambda: split.get_by_role("button", name="Split").click())
    assert any("load_b" in op for op in editor.ops("load_b")) and not any(
        "load_b(" in op for op in editor.ops("load")
    )
    assert editor.verdict == "Safe"


def test_arguments_are_edited_in_the_form(editor):
    editor.op("mma_group.wait(1)").click()
    field = editor.page.get_by_label("still open")
    field.fill("0")
    editor.edited(lambda: field.press("Enter"))
    assert "mma_group.wait(0)" in editor.ops("math")[:6]
    # Keys that edit text do not edit the schedule.
    number = len(editor.ops("math"))
    field.press("Delete")
    assert len(editor.ops("math")) == number


def test_all_copies_are_edited_together(editor):
    editor.op("epilogue_barrier.sync").click()
    editor.page.get_by_label("edit all").check()
    before = len(editor.ops("math"))
    copies = int(editor.op("epilogue_barrier.sync").locator(".chip").inner_text()[1:])
    editor.edited(lambda: editor.page.get_by_role("button", name=f"Delete all {copies}").click())
    assert len(editor.ops("math")) == before - copies


def test_export_is_a_download_and_refused_on_errors(editor):
    with editor.page.expect_download() as download:
        editor.page.get_by_role("button", name="Export").click()
    text = open(download.value.path()).read()
    assert download.value.suggested_filename == "persistent_gemm.py" and "math.05" in text
    editor.op("smem_ab.release", nth=0).click()
    editor.edited(lambda: editor.press("Delete"))
    editor.page.get_by_role("button", name="Export").click()
    editor.page.locator(".warpdraft .notice", has_text="Not exported: WD").wait_for()
    with editor.page.expect_download() as download:
        editor.page.get_by_role("button", name="Export anyway (unsafe)").click()
    assert "UNSAFE" in open(download.value.path()).read()


def test_save_and_recovery(editor, address, folder):
    file = folder / "persistent_gemm.warpdraft.json"
    before = file.read_text()
    editor.op("smem_ab.release", nth=0).click()
    editor.edited(lambda: editor.press("Delete"))
    assert file.read_text() == before
    editor.page.wait_for_timeout(300)
    editor.open(address)  # as after a crash: the tab is gone, the autosave is there
    assert editor.verdict == "Safe"
    graph = editor.page.locator(".warpdraft .pane.graph").bounding_box()
    offer = editor.page.locator(".warpdraft .offered").bounding_box()
    assert offer["y"] + offer["height"] <= graph["y"]  # covers nothing
    editor.edited(lambda: editor.page.get_by_role("button", name="Restore").click())
    assert editor.verdict == "Unsafe"
    editor.press("Control+s")
    editor.page.locator(".warpdraft .notice", has_text="Saved").wait_for()
    assert json.loads(file.read_text()) != json.loads(before)
    assert not editor.page.locator(".warpdraft .dirty").count()
    editor.edited(lambda: editor.press("Control+z"))
    assert editor.verdict == "Safe"


def test_another_document_is_opened_from_the_list(editor):
    editor.page.get_by_label("Open document").select_option("broken_deadlock.warpdraft.json")
    editor.page.locator(".warpdraft .verdict.unsafe").wait_for()
    assert "WD301" in editor.codes()


def test_op_and_code_point_at_each_other(editor):
    editor.page.get_by_role("tab", name="Generated code").click()
    editor.op("acc.mma").click()
    line = editor.page.locator(".warpdraft .code li.lit").first
    line.wait_for()
    editor.op("smem_ab.acquire").click()
    editor.page.locator(".warpdraft .code li.lit", has_text="load.04").first.click()
    assert editor.page.locator(".warpdraft .node.chosen").get_attribute("data-id") == "load.04"


def test_the_graph_selects_and_has_a_table(editor):
    editor.page.locator(".warpdraft .drawing g.node", has_text="smem_c").click()
    editor.page.locator(".warpdraft .details h2", has_text="smem_c").wait_for()
    editor.page.get_by_role("button", name="Show as a table").click()
    assert editor.page.locator(".warpdraft .facts-table tbody tr").count() >= 5


def test_themes(editor):
    before = editor.root.get_attribute("data-theme")
    editor.page.get_by_role("button", name="theme").click()
    after = {"light": "dark", "dark": "light"}[before]
    editor.page.locator(f".warpdraft[data-theme={after}]").wait_for()
    editor.page.reload()
    editor.page.locator(f".warpdraft[data-theme={after}] .op").first.wait_for()


def test_keys_walk_the_schedule(editor):
    editor.op("smem_ab.acquire").click()
    editor.press("ArrowDown")
    editor.page.locator(".warpdraft .node.chosen[data-id='load.05']").wait_for()
    editor.press("ArrowRight")
    editor.page.locator(".warpdraft .column[data-task=math] .node.chosen").wait_for()
    editor.press("Escape")
    editor.page.locator(".warpdraft .node.chosen").wait_for(state="detached")
    editor.press("?")
    editor.page.get_by_role("dialog", name="Keys").wait_for()


@pytest.mark.timeout(240)
def test_a_run_in_the_emulator(editor):
    editor.page.get_by_role("button", name="Run", exact=True).click()
    editor.page.locator(".warpdraft .tabs .summary", has_text="right").wait_for(timeout=200_000)


def test_the_address_restores_file_and_selection(editor, address):
    editor.choose("tma_copy", "store")
    node = editor.page.locator(".warpdraft .op").first
    node.click()
    editor.page.wait_for_function("() => location.hash.includes('tma_copy') && location.hash.includes('op=')")
    kept = editor.page.url
    editor.page.goto("about:blank")
    editor.page.goto(kept)
    editor.page.locator(".warpdraft .node.chosen").wait_for()
    assert editor.page.get_by_label("Open document").input_value() == "tma_copy.warpdraft.json"


def test_go_to_anything_by_name(editor):
    editor.press("/")
    editor.page.keyboard.type("mma(tiles")
    editor.press("Enter")
    editor.page.locator(".warpdraft .node.chosen", has_text="acc.mma").wait_for()


def test_a_drag_from_node_to_node_adds_a_dependency(editor):
    nodes = editor.page.locator(".warpdraft .drawing g.node")
    start = nodes.filter(has_text="queue").first.bounding_box()
    end = nodes.filter(has_text="acc").first.bounding_box()
    mouse = editor.page.mouse
    mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    mouse.down()
    for step in range(1, 11):
        x = start["x"] + (end["x"] - start["x"]) * step / 10 + end["width"] / 2
        mouse.move(x, start["y"] + (end["y"] - start["y"]) * step / 10 + end["height"] / 2)
    editor.edited(mouse.up)
    editor.page.locator(".warpdraft .details h2", has_text="queue → acc").wait_for()
    editor.edited(lambda: editor.press("Control+z"))  # the keys act after the mouse, too


def test_timeline_keys_zoom_and_bars_select(editor):
    editor.page.locator(".warpdraft .tabs .summary", has_text="cycles").wait_for()
    editor.page.wait_for_timeout(500)
    box = editor.page.locator(".warpdraft .figure").bounding_box()
    before = editor.page.screenshot(clip=box)
    editor.press("w")
    editor.press("w")
    editor.page.wait_for_timeout(700)
    assert editor.page.screenshot(clip=box) != before
    editor.page.mouse.click(box["x"] + box["width"] * 0.6, box["y"] + 30)  # in the second lane
    editor.page.locator(".warpdraft .details h2").wait_for()


def test_why_an_operation_is_there(editor):
    editor.op("smem_ab.release").click()
    editor.page.get_by_role("button", name="Why is it here?").click()
    editor.page.locator(".warpdraft .why.needed").wait_for(timeout=60_000)


def test_a_fix_is_shown_as_a_difference_and_applied(editor):
    editor.page.get_by_label("Open document").select_option("broken_arrival_count.warpdraft.json")
    editor.page.locator(".warpdraft .verdict.unsafe").wait_for()
    editor.page.locator(".warpdraft .finding", has_text="WD201").get_by_role("button", name="fix").click()
    assert editor.page.locator(".warpdraft .explained .page").last.inner_text()  # why it hurts
    fix = editor.page.locator(".warpdraft .fix")
    fix.locator(".diff span", has_text="→").first.wait_for()  # the field that differs
    editor.edited(lambda: fix.get_by_role("button", name="Apply").click())
    assert editor.verdict == "Safe"
    editor.edited(lambda: editor.press("Control+z"))
    assert "WD201" in editor.codes()


def test_a_hostile_document_runs_nothing(editor, folder):
    """Names are text everywhere: in panes, drawing, timeline and tooltips."""
    bad = '<img src=x onerror="window.hacked=1">'
    document = store.load(folder / "persistent_gemm.warpdraft.json")
    document = with_bodies(
        document, lambda body: trees.change_nodes(body, lambda n: (replace(n, id=bad + n.id),))
    )
    tasks = tuple(replace(task, name=bad + task.name) for task in document.tasks)
    store.save(replace(document, name=bad, tasks=tasks), folder / "hostile.warpdraft.json")
    files = editor.page.get_by_label("Open document")
    files.focus()  # looks again which files there are
    files.select_option("hostile.warpdraft.json")
    editor.page.locator(".warpdraft .task-name", has_text="<img").first.wait_for()
    editor.settled()
    editor.op("acc.mma").click()
    for tab in ("Debugger", "Generated code", "Authoring source", "Timeline"):
        editor.page.get_by_role("tab", name=tab).click()
        editor.page.wait_for_timeout(200)
    editor.page.locator(".warpdraft .tabs .summary", has_text="cycles").wait_for()
    box = editor.page.locator(".warpdraft .figure").bounding_box()
    for part in (0.3, 0.5, 0.7):
        editor.page.mouse.move(box["x"] + box["width"] * part, box["y"] + 10)
        editor.page.wait_for_timeout(150)
    assert editor.page.evaluate("window.hacked") is None


def test_a_file_that_changed_on_disk_is_not_overwritten_silently(editor, folder):
    file = folder / "persistent_gemm.warpdraft.json"
    editor.op("smem_ab.release", nth=0).click()
    editor.edited(lambda: editor.press("Delete"))
    theirs = file.read_text() + "\n"
    file.write_text(theirs)
    editor.press("Control+s")
    notice = editor.page.locator(".warpdraft .notice")
    notice.filter(has_text="was changed by another program or tab").wait_for()
    assert file.read_text() == theirs
    notice.get_by_role("button", name="Save as").click()
    name = editor.page.locator(".warpdraft .saveas input")
    name.fill("broken_deadlock")
    name.press("Enter")
    notice.filter(has_text="broken_deadlock.warpdraft.json exists: replace it?").wait_for()
    editor.press("Control+s")
    notice.get_by_role("button", name="Overwrite").click()
    notice.filter(has_text="Saved persistent").wait_for()
    assert file.read_text() != theirs


def test_works_symbols_document_and_kernel_have_forms(editor):
    pane = editor.page.get_by_label("Resources", exact=True)
    form = editor.page.locator(".warpdraft .details .form")
    pane.locator(".name", has_text="smem_ab").first.click()
    form.get_by_role("button", name="load_a", exact=True).click()
    form.locator("h2", has_text="smem_ab.load_a").wait_for()
    field = form.get_by_label("tx bytes")

    def commit(text):
        field.fill(text)
        field.press("Enter")

    editor.edited(lambda: commit("8192"))
    assert field.input_value() == "8192"
    editor.page.locator(".warpdraft").focus()
    editor.edited(lambda: editor.press("Control+z"))
    pane.locator(".symbol .name", has_text="k_tiles").click()
    form.locator(".detail", has_text="symbol").wait_for()
    field = form.get_by_label("name", exact=True)
    editor.edited(lambda: commit("depth"))
    assert "depth" in editor.page.locator(".warpdraft .schedule").inner_text()
    pane.locator(".name", has_text="sm_90a").click()
    field = form.get_by_label("CTAs on a multiprocessor")
    editor.edited(lambda: commit("2"))
    assert "WD601" in editor.codes()
    pane.locator(".name", has_text="trip counts").click()
    form.get_by_label("sizes on a GPU").wait_for()
    assert "depth=ceil_div(K, 64)" in form.get_by_label("trip counts").input_value()
