/* Figures that follow the hand. Bokeh paints a plot at most every 16.7 ms by the clock, and then in the frame after that: on a
   display of 60 Hz a plot that is dragged is painted in every second frame. Here it is painted in the next frame, once. And
   Bokeh writes the style sheet of each of a plot's renderers anew at each painting, after which the browser works out all
   styles again: here a sheet that says the same is left alone. */
export function followTheHand(view) {
  for (const plot of plotsIn(view)) {
    let paint = null;
    plot.throttled_paint = () => paint ??= new Promise((done) => requestAnimationFrame(() => {
      paint = null;
      if (!plot.is_destroyed) plot.repaint();
      done();
    }));
    for (const renderer of plot.computed_renderer_views) {
      if (renderer.model.name === "warpdraft-unseen") sparePainting(renderer);
      leaveAlone(Object.getPrototypeOf(renderer.position));
    }
    plot.el.addEventListener("pointermove", (event) => restHovers(plot, event.buttons !== 0), true);
  }
}

/* Of what is there only to be found under the mouse: worked out when the mouse looks for it. */
function sparePainting(renderer) {
  const look = renderer.hit_test;
  renderer._paint = () => {};
  renderer.hit_test = (where) => { renderer.map_data(); return look.call(renderer, where); };
}

/* What is dragged has no tooltip, which would move at each step. */
function restHovers(plot, dragged) {
  for (const hover of plot.tool_views.values()) {
    if (hover.model.type !== "HoverTool" || hover.model.active !== dragged) continue;
    hover.model.setv({ active: !dragged }, { sync: false });
    if (dragged) hover._move_exit();
  }
}

function leaveAlone(sheet) {
  if (sheet.leavesAlone || !sheet._update) return;
  const update = sheet._update;
  sheet.leavesAlone = true;
  sheet._update = function (css) { if (this.el.textContent !== css) update.call(this, css); };
}

function* plotsIn(view) {
  if (view.computed_renderer_views) yield view;
  else for (const child of view.child_views ?? []) yield* plotsIn(child);
}
