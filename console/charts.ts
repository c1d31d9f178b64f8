/** Charts: what a bar stands for, read out under the pointer and by arrow keys. */
export function readCharts(): void {
  for (const figure of document.querySelectorAll<HTMLElement>('figure.chart')) {
    const plot = figure.querySelector<SVGElement>('svg.bars');
    const readout = figure.querySelector<HTMLElement>('.readout');
    const bars = [...figure.querySelectorAll<SVGGElement>('g[data-says]')];
    if (!plot || !readout || bars.length === 0) continue;
    readout.hidden = false;
    plot.setAttribute('tabindex', '0');
    let at = bars.length - 1;
    const show = (index: number) => {
      bars[at]?.classList.remove('on');
      at = Math.min(bars.length - 1, Math.max(0, index));
      bars[at]?.classList.add('on');
      readout.textContent = bars[at]?.dataset.says ?? '';
    };
    for (const [index, bar] of bars.entries()) {
      bar.addEventListener('pointerenter', () => {
        show(index);
      });
    }
    plot.addEventListener('focus', () => {
      show(at);
    });
    plot.addEventListener('keydown', (event) => {
      const moves: Record<string, number> = {
        ArrowLeft: at - 1,
        ArrowRight: at + 1,
        Home: 0,
        End: bars.length - 1,
      };
      const next = moves[event.key];
      if (next === undefined) return;
      event.preventDefault();
      show(next);
    });
    show(at);
  }
}
