/**
 * Admission control: reserves rows and memory for a choice before it starts, in order of arrival.
 *
 * A choice reserves a row of its batch and memory for its prompt and all tokens it may generate, so that it is never
 * preempted. The request at the head starts as many choices as fit; none overtakes it, so that none starves. Pure
 * bookkeeping, without tensors.
 */
import { bytesFor, bytesOf, type KvShape, pagesFor, promptPage } from "./cache/KvShape.ts"

export interface Limits {
  readonly maxRows: number
  readonly maxWaiting: number
  readonly kvBytes: number
  readonly shape: KvShape
}

export interface Demand {
  readonly choices: number
  readonly promptTokens: number
  /** Max prompt and completion together. */
  readonly totalTokens: number
}

/** Rows that run on the same weights, and the pages reserved for them. */
interface Reservation {
  rows: number
  pages: number
  /** Current cache size; never exceeds the peak reservation. */
  allocated: number
}

interface Waiting<Job> {
  readonly job: Job
  readonly demand: Demand
  left: number
}

const emptyReservation = (): Reservation => ({ rows: 0, pages: 0, allocated: 0 })

export class Admission<Job, Key> {
  readonly limits: Limits
  private readonly queue: Array<Waiting<Job>> = []
  private readonly reservations = new Map<Key, Reservation>()
  /** Bytes of prompts that are kept until all their choices have started. */
  private readonly prompts = new Map<Job, number>()
  rows = 0
  waiting = 0

  constructor(limits: Limits) {
    this.limits = limits
  }

  get bytes(): number {
    let sum = 0
    for (const reservation of this.reservations.values()) sum += this.promised(reservation)
    for (const bytes of this.prompts.values()) sum += bytes
    return sum
  }

  /** True if one choice fits when nothing else runs. */
  fits({ promptTokens, totalTokens }: Demand): boolean {
    const { kvBytes, shape } = this.limits
    return bytesFor(shape, [promptTokens], promptPage) + bytesFor(shape, [totalTokens]) <= kvBytes
  }

  /** Max prompt and completion together that can fit at all, tokens. */
  get longest(): number {
    let [low, high] = [0, 2 ** 24]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.fits({ choices: 1, promptTokens: middle, totalTokens: middle })) low = middle
      else high = middle
    }
    return low
  }

  /**
   * Queues a request; false if too many are waiting. One request may always wait, regardless of its number of choices.
   */
  offer(job: Job, demand: Demand): boolean {
    if (this.waiting > 0 && this.waiting + demand.choices > this.limits.maxWaiting) return false
    this.queue.push({ job, demand, left: demand.choices })
    this.waiting += demand.choices
    return true
  }

  /**
   * Reserves resources for the head of the queue; returns how many of its choices may start. `key` returns its batch
   * when it starts.
   */
  next(key: (job: Job) => Key): { readonly job: Job; readonly choices: number; readonly isLast: boolean } | undefined {
    const [head] = this.queue
    if (head === undefined || this.rows >= this.limits.maxRows) return undefined
    const { demand, job } = head
    const batchKey = key(job)
    const reservation = this.reservations.get(batchKey) ?? emptyReservation()
    const prompt = bytesFor(this.limits.shape, [demand.promptTokens], promptPage)
    const others = this.bytes - this.promised(reservation) - (this.prompts.get(job) ?? 0)
    const left = this.limits.kvBytes - others - prompt
    const pages = pagesFor(demand.totalTokens)
    const takes = (more: number) =>
      bytesOf(this.limits.shape, reservation.rows + more, reservation.pages + more * pages)
    let choices = Math.min(head.left, this.limits.maxRows - this.rows)
    while (choices > 0 && takes(choices) > left) choices--
    if (choices === 0) return undefined
    head.left -= choices
    this.waiting -= choices
    if (head.left === 0) this.queue.shift()
    this.prompts.set(job, prompt)
    this.reservations.set(batchKey, reservation)
    this.change(reservation, demand.totalTokens, choices)
    return { job, choices, isLast: head.left === 0 }
  }

  /** Frees the prompt's own reservation: all of its choices have started, or none will. */
  promptDone(job: Job): void {
    this.prompts.delete(job)
  }

  release(key: Key, demand: Demand): void {
    const reservation = this.reservations.get(key)
    if (reservation === undefined) return
    this.change(reservation, demand.totalTokens, -1)
    if (reservation.rows === 0) this.reservations.delete(key)
  }

  move(from: Key, to: Key, demand: Demand): void {
    this.release(from, demand)
    const reservation = this.reservations.get(to) ?? emptyReservation()
    this.reservations.set(to, reservation)
    this.change(reservation, demand.totalTokens, 1)
  }

  measured(key: Key, bytes: number): void {
    const reservation = this.reservations.get(key)
    if (reservation !== undefined) reservation.allocated = bytes
  }

  withdraw(job: Job): void {
    const index = this.queue.findIndex((waiting) => waiting.job === job)
    if (index < 0) return
    const [{ left }] = this.queue.splice(index, 1) as [Waiting<Job>]
    this.waiting -= left
  }

  get head(): Job | undefined {
    return this.queue[0]?.job
  }

  private promised(reservation: Reservation): number {
    if (reservation.rows === 0) return 0
    return Math.max(bytesOf(this.limits.shape, reservation.rows, reservation.pages), reservation.allocated)
  }

  private change(reservation: Reservation, total: number, rows: number): void {
    reservation.rows += rows
    reservation.pages += rows * pagesFor(total)
    this.rows += rows
  }
}
