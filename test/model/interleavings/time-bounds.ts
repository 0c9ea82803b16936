// Possible times of events of which only the order is known. For two points in time, this keeps only a
// bound: how much later one of them is than the other, at most.

/** How many points can be in use at the same time. */
const MAX_POINTS = 32;

export class TimeBounds {
  /** For each two points, the most milliseconds from the first to the second, with all consequences. */
  readonly #max: Float64Array;
  #points: readonly number[];

  private constructor(max: Float64Array, points: readonly number[]) {
    this.#max = max;
    this.#points = points;
  }

  static startRun(): TimeBounds {
    return new TimeBounds(new Float64Array(MAX_POINTS * MAX_POINTS).fill(Infinity), []);
  }

  copy(): TimeBounds {
    return new TimeBounds(this.#max.slice(), this.#points);
  }

  /** Adds a point without any bounds. */
  point(): number {
    let point = 0;
    while (this.#points.includes(point)) point += 1;
    if (point === MAX_POINTS) throw new Error('Too many points in time.');
    for (const other of this.#points) {
      this.#max[point * MAX_POINTS + other] = Infinity;
      this.#max[other * MAX_POINTS + point] = Infinity;
    }
    this.#max[point * MAX_POINTS + point] = 0;
    this.#points = [...this.#points, point];
    return point;
  }

  /** Adds a bound: `later` is at most `ms` after `earlier`. Returns false if that is impossible. */
  isAtMost(later: number, earlier: number, ms: number): boolean {
    const max = this.#max;
    if ((max[later * MAX_POINTS + earlier] as number) + ms < 0) return false;
    if ((max[earlier * MAX_POINTS + later] as number) <= ms) return true;
    for (const from of this.#points) {
      const before = (max[from * MAX_POINTS + earlier] as number) + ms;
      if (before === Infinity) continue;
      for (const to of this.#points) {
        const way = before + (max[later * MAX_POINTS + to] as number);
        const at = from * MAX_POINTS + to;
        if (way < (max[at] as number)) max[at] = way;
      }
    }
    return true;
  }

  /** The same for at least `ms`. */
  isAtLeast(later: number, earlier: number, ms: number): boolean {
    return this.isAtMost(earlier, later, -ms);
  }

  /** Removes the other points, but keeps the consequences of their bounds. */
  keepOnly(points: ReadonlySet<number>): void {
    this.#points = this.#points.filter((point) => points.has(point));
  }
}
