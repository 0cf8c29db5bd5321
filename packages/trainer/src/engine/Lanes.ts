/**
 * Manages the choices being sampled: one lane per version of the weights, each with its KV cache.
 *
 * Row i of a lane's cache is its choice i. Cache sizes and released rows are reported to `Admission`.
 */
import type { Admission } from "./Admission.ts"
import type { Choice, Job } from "./Job.ts"
import { KvCache } from "./KvCache.ts"
import type { KvShape } from "./KvShape.ts"
import type { Version } from "./PolicyTable.ts"

export interface Lane<W> {
  readonly cache: KvCache
  readonly choices: Array<Choice<W>>
}

export class Lanes<W> {
  private readonly admission: Admission<Job<W>, Version<W>>
  private readonly shape: KvShape
  private readonly lanes = new Map<Version<W>, Lane<W>>()

  constructor(admission: Admission<Job<W>, Version<W>>, shape: KvShape) {
    this.admission = admission
    this.shape = shape
  }

  /** Adds a choice with a copy of the prompt's keys and values. */
  add(version: Version<W>, choice: Choice<W>, prompt: KvCache): void {
    const lane = this.lanes.get(version) ?? { cache: new KvCache(this.shape), choices: [] }
    this.lanes.set(version, lane)
    lane.cache.add(prompt, 0)
    lane.choices.push(choice)
    this.admission.measured(version, lane.cache.bytes)
  }

  /** Reserves `more` positions per choice; returns the row count of a run, at least two. */
  reserve(version: Version<W>, { cache, choices }: Lane<W>, more: ReadonlyArray<number>): number {
    cache.reserve(cache.lengths.map((length, row) => length + more[row]!))
    this.admission.measured(version, cache.bytes)
    return Math.max(2, choices.length)
  }

  /** Removes a row; the last row takes its place. */
  remove(version: Version<W>, lane: Lane<W>, row: number): void {
    const { job } = lane.choices[row]!
    this.take(version, lane, row)
    this.admission.release(version, job.demand)
  }

  private take(version: Version<W>, lane: Lane<W>, row: number): void {
    const last = lane.choices.pop()!
    lane.cache.remove(row)
    if (row < lane.choices.length) lane.choices[row] = last
    if (lane.choices.length === 0) this.lanes.delete(version)
  }

  /** Removes a choice; returns false if not found. */
  removeChoice(version: Version<W>, job: Job<W>, index: number): boolean {
    const lane = this.lanes.get(version)
    const row = lane?.choices.findIndex((choice) => choice.job === job && choice.index === index) ?? -1
    if (lane !== undefined && row >= 0) this.remove(version, lane, row)
    return row >= 0
  }

  /** Moves choices, with their keys and values, to the lane of other weights. */
  move(from: Version<W>, to: Version<W>, isMoved: (job: Job<W>) => boolean): void {
    const lane = this.lanes.get(from)
    if (lane === undefined) return
    for (const { job } of lane.choices.filter(({ job }) => isMoved(job))) this.admission.move(from, to, job.demand)
    const isWhole = !this.lanes.has(to) && lane.choices.every(({ job }) => isMoved(job))
    if (isWhole) {
      this.lanes.delete(from)
      this.lanes.set(to, lane)
    } else {
      const target = this.lanes.get(to) ?? { cache: new KvCache(this.shape), choices: [] }
      for (let row = lane.choices.length - 1; row >= 0; row--) {
        const choice = lane.choices[row]!
        if (!isMoved(choice.job)) continue
        target.cache.add(lane.cache, row)
        target.choices.push(choice)
        this.take(from, lane, row)
      }
      if (target.choices.length > 0) this.lanes.set(to, target)
    }
    const moved = this.lanes.get(to)
    if (moved !== undefined) this.admission.measured(to, moved.cache.bytes)
  }

  removeJob(version: Version<W>, job: Job<W>): void {
    const lane = this.lanes.get(version)
    if (lane === undefined) return
    for (let row = lane.choices.length - 1; row >= 0; row--) {
      if (lane.choices[row]!.job === job) this.remove(version, lane, row)
    }
  }

  running(version: Version<W>): number {
    return this.lanes.get(version)?.choices.length ?? 0
  }

  get bytes(): number {
    return [...this.lanes.values()].reduce((sum, { cache }) => sum + cache.bytes, 0)
  }

  [Symbol.iterator](): IterableIterator<[Version<W>, Lane<W>]> {
    return this.lanes.entries()
  }
}
