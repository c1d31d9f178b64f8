/** Shows how far a long run is: one line that is repainted on a terminal, else a line now and then. */
interface ProgressState {
  /** What is counted: "lines", "records", "addresses". */
  readonly unit: string;
  readonly units: number;
  readonly kept: number;
  readonly dropped: number;
  /** Bytes read of the source as it lies on disk or comes over the network. */
  readonly bytes: number;
  /** Bytes of the whole source, where they are known. */
  readonly totalBytes?: number | undefined;
}

export interface ProgressPorts {
  readonly write: (text: string) => void;
  readonly isTerminal: boolean;
  /** Columns of the terminal. */
  readonly columns: number;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
}

const REPAINT_MS = 200;
const LINE_MS = 5_000;

export interface Progress {
  /** Call as often as you like: it writes at its own pace. */
  show(state: ProgressState): void;
  /** Ends the line that is being repainted. */
  end(): void;
}

/** Starts the clock of one run. */
export function startProgress(ports: ProgressPorts): Progress {
  const startedMs = ports.nowMs();
  let shownMs = startedMs;
  let isPainted = false;
  return {
    show: (state) => {
      const nowMs = ports.nowMs();
      if (nowMs - shownMs < (ports.isTerminal ? REPAINT_MS : LINE_MS)) return;
      shownMs = nowMs;
      const line = progressLine(state, (nowMs - startedMs) / 1_000);
      if (ports.isTerminal) {
        const width = Math.max(20, ports.columns - 1);
        ports.write(`\r${line.slice(0, width).padEnd(width)}`);
        isPainted = true;
      } else {
        ports.write(`${line}\n`);
      }
    },
    end: () => {
      if (isPainted) ports.write(`\r${' '.repeat(Math.max(20, ports.columns - 1))}\r`);
      isPainted = false;
    },
  };
}

/** The line for a run that has lasted `seconds`. */
function progressLine(state: ProgressState, seconds: number): string {
  const { unit, units, kept, dropped, bytes, totalBytes } = state;
  const parts = [
    `${whole(units)} ${unit}`,
    `${whole(kept)} kept`,
    `${whole(dropped)} dropped`,
    `${whole(kept / Math.max(seconds, 0.001))} pages/s`,
    `${(bytes / 1e6 / Math.max(seconds, 0.001)).toFixed(1)} MB/s`,
  ];
  if (totalBytes !== undefined && totalBytes > 0 && bytes > 0) {
    const share = Math.min(1, bytes / totalBytes);
    parts.unshift(`${Math.floor(share * 100)} %`);
    parts.push(`${duration((seconds / share) * (1 - share))} left`);
  }
  return parts.join(' · ');
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** "8 s", "3 min 20 s", "2 h 5 min". */
export function duration(seconds: number): string {
  const rounded = Math.round(seconds);
  if (rounded < 60) return `${rounded} s`;
  const minutes = Math.floor(rounded / 60);
  if (minutes < 60) return `${minutes} min ${rounded % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
