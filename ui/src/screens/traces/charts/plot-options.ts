/** The common style of the charts. */
import type uPlot from 'uplot';

export type Color = (variable: string) => string;

const FONT = '11px system-ui, sans-serif';

/** Returns an axis; `values` formats its ticks. */
export function axis(color: Color, values: uPlot.Axis['values'], isVertical: boolean): uPlot.Axis {
  return {
    stroke: color('--muted'),
    font: FONT,
    ...(values === undefined ? {} : { values }),
    ...(isVertical ? { size: 52, space: 28 } : { size: 22, space: 64 }),
    gap: 4,
    ticks: { show: false },
    grid: { show: isVertical, stroke: color('--line'), width: 1 },
  };
}

/** Returns the options of the cursor: dragging selects along the x axis without zooming. */
export function cursor(points: boolean): uPlot.Cursor {
  return { y: false, drag: { x: true, y: false, setScale: false }, points: { show: points } };
}

/** Returns hooks that report the selection and the value under the cursor. */
export function hooks(
  onselect: (from: number, to: number) => void,
  onhover: (index: number | null) => void,
): uPlot.Hooks.Arrays {
  return {
    setSelect: [
      (plot) => {
        const { left, width } = plot.select;
        if (width < 3) return;
        onselect(plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x'));
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      },
    ],
    setCursor: [
      (plot) => {
        onhover(plot.cursor.idx ?? null);
      },
    ],
  };
}

/** Returns a path of bars from zero; `extent` returns the two x positions of each bar. */
export function drawBars(extent: (x: number) => [left: number, right: number]): uPlot.Series.PathBuilder {
  return (plot, index, from, to) => {
    const fill = new Path2D();
    const [xs, ys] = [plot.data[0], plot.data[index] ?? []];
    const zero = plot.valToPos(0, 'y', true);
    for (let at = from; at <= to; at += 1) {
      const [x, y] = [xs[at], ys[at]];
      if (x === undefined || !y) continue;
      const [left, right] = extent(x).map((edge) => plot.valToPos(edge, 'x', true)) as [number, number];
      const top = plot.valToPos(y, 'y', true);
      fill.rect(left + 0.5, top, Math.max(right - left - 1, 1), zero - top);
    }
    return { fill, stroke: fill };
  };
}

/** The range of a vertical scale: from 0 to slightly above the maximum. */
export function fromZero(_plot: uPlot, _min: number, max: number): [number, number] {
  return [0, max > 0 ? max * 1.05 : 1];
}
