/**
 * Manages the choices being sampled: one batch per version of the weights, each with its KV cache.
 *
 * Row i of a batch's cache is its choice i. Cache sizes and released rows are reported to `Admission`.
 */
import type { Admission } from "./Admission.ts"
import type { Choice, Job } from "./Job.ts"
import { KvCache } from "./cache/KvCache.ts"
import type { KvShape } from "./cache/KvShape.ts"
import type { Version } from "./PolicyTable.ts"

export interface DecodeBatch<W> {
  readonly cache: KvCache
  readonly choices: Array<Choice<W>>
}

export class DecodeBatches<W> {
  private readonly admission: Admission<Job<W>, Version<W>>
  private readonly shape: KvShape
  private readonly batches = new Map<Version<W>, DecodeBatch<W>>()

  constructor(admission: Admission<Job<W>, Version<W>>, shape: KvShape) {
    this.admission = admission
    this.shape = shape
  }

  /** Adds a choice with a copy of the prompt's keys and values. */
  add(version: Version<W>, choice: Choice<W>, prompt: KvCache): void {
    const batch = this.batches.get(version) ?? { cache: new KvCache(this.shape), choices: [] }
    this.batches.set(version, batch)
    batch.cache.add(prompt, 0)
    batch.choices.push(choice)
    this.admission.measured(version, batch.cache.bytes)
  }

  /** Reserves `more` positions per choice; returns the row count of a run, at least two. */
  reserve(version: Version<W>, { cache, choices }: DecodeBatch<W>, more: ReadonlyArray<number>): number {
    cache.reserve(cache.lengths.map((length, row) => length + more[row]!))
    this.admission.measured(version, cache.bytes)
    return Math.max(2, choices.length)
  }

  /** Removes a row; the last row takes its place. */
  remove(version: Version<W>, batch: DecodeBatch<W>, row: number): void {
    const { job } = batch.choices[row]!
    this.take(version, batch, row)
    this.admission.release(version, job.demand)
  }

  private take(version: Version<W>, batch: DecodeBatch<W>, row: number): void {
    const last = batch.choices.pop()!
    batch.cache.remove(row)
    if (row < batch.choices.length) batch.choices[row] = last
    if (batch.choices.length === 0) this.batches.delete(version)
  }

  /** Removes a choice; returns false if not found. */
  removeChoice(version: Version<W>, job: Job<W>, index: number): boolean {
    const batch = this.batches.get(version)
    const row = batch?.choices.findIndex((choice) => choice.job === job && choice.index === index) ?? -1
    if (batch !== undefined && row >= 0) this.remove(version, batch, row)
    return row >= 0
  }

  /** Moves choices, with their keys and values, to the batch of other weights. */
  move(from: Version<W>, to: Version<W>, isMoved: (job: Job<W>) => boolean): void {
    const batch = this.batches.get(from)
    if (batch === undefined) return
    for (const { job } of batch.choices.filter(({ job }) => isMoved(job))) this.admission.move(from, to, job.demand)
    const isWhole = !this.batches.has(to) && batch.choices.every(({ job }) => isMoved(job))
    if (isWhole) {
      this.batches.delete(from)
      this.batches.set(to, batch)
    } else {
      const target = this.batches.get(to) ?? { cache: new KvCache(this.shape), choices: [] }
      for (let row = batch.choices.length - 1; row >= 0; row--) {
        const choice = batch.choices[row]!
        if (!isMoved(choice.job)) continue
        target.cache.add(batch.cache, row)
        target.choices.push(choice)
        this.take(from, batch, row)
      }
      if (target.choices.length > 0) this.batches.set(to, target)
    }
    const moved = this.batches.get(to)
    if (moved !== undefined) this.admission.measured(to, moved.cache.bytes)
  }

  removeJob(version: Version<W>, job: Job<W>): void {
    const batch = this.batches.get(version)
    if (batch === undefined) return
    for (let row = batch.choices.length - 1; row >= 0; row--) {
      if (batch.choices[row]!.job === job) this.remove(version, batch, row)
    }
  }

  running(version: Version<W>): number {
    return this.batches.get(version)?.choices.length ?? 0
  }

  get bytes(): number {
    return [...this.batches.values()].reduce((sum, { cache }) => sum + cache.bytes, 0)
  }

  [Symbol.iterator](): IterableIterator<[Version<W>, DecodeBatch<W>]> {
    return this.batches.entries()
  }
}
