/**
 * Tracks the engine's requests (waiting, in prefill, decoding) and their weights: the newest of their policy at the
 * start. Everything a request holds (rows, memory, weights) is freed when it is dropped, in any state. Pure
 * bookkeeping.
 */
import { Admission } from "./Admission.ts"
import { EngineOverloaded, type EngineError, PromptTooLong, UnknownPolicy } from "./EngineRequests.ts"
import type { EngineSettings } from "./EngineSettings.ts"
import type { Job } from "./Job.ts"
import type { KvShape } from "./cache/KvShape.ts"
import { DecodeBatches } from "./DecodeBatches.ts"
import { PolicyTable, type Version } from "./PolicyTable.ts"
import * as Prefill from "./Prefill.ts"
import { PrefixCache } from "./cache/PrefixCache.ts"

export interface Options<W> {
  readonly settings: EngineSettings
  readonly shape: KvShape
  /** Called with weights that are no longer in use. */
  readonly free: (weights: W) => void
}

export class Jobs<W> {
  readonly admission: Admission<Job<W>, Version<W>>
  readonly batches: DecodeBatches<W>
  readonly policies: PolicyTable<W>
  readonly prefixes: PrefixCache<Version<W>>
  /** Requests with reserved rows whose prompts are in prefill; in order. */
  readonly prompts: Array<Job<W>> = []
  private readonly shape: KvShape
  private readonly jobs = new Map<number, Job<W>>()

  constructor({ free, settings, shape }: Options<W>) {
    this.shape = shape
    // Prefixes can be shared as keys and values, but a state depends on everything before it.
    const prefixBytes = shape.states === undefined ? settings.prefixCacheMegabytes * 2 ** 20 : 0
    this.prefixes = new PrefixCache(shape, Prefill.blockTokens, prefixBytes)
    this.policies = new PolicyTable((version) => {
      this.prefixes.drop(version)
      free(version.weights)
    })
    this.admission = new Admission({
      maxRows: settings.maxRows,
      maxWaiting: settings.maxWaiting,
      kvBytes: settings.kvMemoryMegabytes * 2 ** 20,
      shape
    })
    this.batches = new DecodeBatches(this.admission, shape)
  }

  get isEmpty(): boolean {
    return this.jobs.size === 0
  }

  get kvBytes(): number {
    return [...this.jobs.values()].reduce((sum, { cache }) => sum + (cache?.bytes ?? 0), this.batches.bytes)
  }

  /** Queues a request; returns the error if it cannot wait. */
  offer(job: Job<W>): EngineError | undefined {
    if (!this.admission.fits(job.demand)) {
      const { promptTokens, totalTokens } = job.demand
      const limitTokens = this.admission.longest
      return new PromptTooLong({ promptTokens, maxTokens: totalTokens - promptTokens, limitTokens })
    }
    const unknown = this.unknownPolicy(job)
    if (unknown !== undefined) return unknown
    if (!this.admission.offer(job, job.demand)) {
      return new EngineOverloaded({ waiting: this.admission.waiting, retryAfterMillis: 1000 })
    }
    this.jobs.set(job.id, job)
    return undefined
  }

  /**
   * Reserves rows for the request at the head of the queue, and starts it if it has not started. `error` if its weights
   * were unloaded since it arrived; undefined if the queue is empty or no capacity is left.
   */
  admitNext(): { readonly job: Job<W>; readonly error?: UnknownPolicy } | undefined {
    const { head } = this.admission
    const error = head === undefined ? undefined : this.unknownPolicy(head)
    if (error !== undefined) return { job: head!, error }
    // The policy exists: it was just checked.
    const next = this.admission.next((job) => job.version ?? this.policies.resolve(job.work.request.policy)!)
    if (next === undefined) return undefined
    const { choices, job } = next
    if (job.version === undefined) {
      const version = this.policies.resolve(job.work.request.policy)!
      this.policies.acquire(version)
      job.begin(version, this.shape)
      this.prompts.push(job)
    }
    job.granted += choices
    return { job }
  }

  drop(id: number): void {
    const job = this.jobs.get(id)
    if (job === undefined) return
    this.jobs.delete(id)
    job.dispose()
    this.admission.withdraw(job)
    this.admission.promptDone(job)
    this.promptDone(job)
    if (job.version === undefined) return
    for (; job.begun < job.granted; job.begun++) this.admission.release(job.version, job.demand)
    this.batches.removeJob(job.version, job)
    this.policies.release(job.version)
  }

  /**
   * Moves requests to the newest weights of their policy. Choices keep their keys and values; a prompt with choices yet
   * to start is prefilled again, so that old weights' results do not get into the prefix cache.
   */
  follow(): void {
    const moved = new Map<Version<W>, Map<Version<W>, Set<Job<W>>>>()
    for (const job of this.jobs.values()) {
      const { version, work } = job
      const newest = this.policies.resolve(work.request.policy)
      if (version === undefined || work._tag === "Score" || newest === undefined || newest === version) continue
      const targets = moved.get(version) ?? new Map<Version<W>, Set<Job<W>>>()
      moved.set(version, targets)
      targets.set(newest, (targets.get(newest) ?? new Set<Job<W>>()).add(job))
    }
    for (const [from, targets] of moved) {
      for (const [to, jobs] of targets) {
        this.batches.move(from, to, (job) => jobs.has(job))
        for (const job of jobs) this.moveJob(job, from, to)
      }
    }
  }

  private moveJob(job: Job<W>, from: Version<W>, to: Version<W>): void {
    this.policies.acquire(to)
    for (let index = job.begun; index < job.granted; index++) this.admission.move(from, to, job.demand)
    job.version = to
    if (job.work._tag === "Generate" && job.begun < job.work.request.n) {
      job.begin(to, this.shape)
      if (!this.prompts.includes(job)) this.prompts.push(job)
    }
    this.policies.release(from)
  }

  /** Frees the row of one choice; returns its request if the choice was still being sampled. */
  endChoice(id: number, index: number): Job<W> | undefined {
    const job = this.jobs.get(id)
    if (job?.version === undefined || !this.batches.removeChoice(job.version, job, index)) return undefined
    job.left--
    return job
  }

  /** Removes a prompt from prefill: it is done, or no longer needed. */
  promptDone(job: Job<W>): void {
    const at = this.prompts.indexOf(job)
    if (at >= 0) this.prompts.splice(at, 1)
  }

  private unknownPolicy({ version, work }: Job<W>): UnknownPolicy | undefined {
    const { policy } = work.request
    if (version !== undefined || this.policies.resolve(policy) !== undefined) return undefined
    return new UnknownPolicy({ policy: policy ?? "", loaded: this.policies.names })
  }
}
