/**
 * Who may wait, and who begins: rows and memory are promised to a choice before it starts, in the order of arrival.
 *
 * A choice is promised a row of its lane (the rows that run on the same weights) and room for its prompt and all tokens
 * it may get, so that nothing that began is ever put out again. The request at the head begins with as many of its
 * choices as there is room for; nobody overtakes it, so that none starves. Pure bookkeeping: knows no tensors.
 */
import { bytesFor, bytesOf, type KvShape, pagesFor, promptPage } from "./KvShape.ts"

export interface Limits {
  readonly maxRows: number
  readonly maxWaiting: number
  readonly kvBytes: number
  readonly shape: KvShape
}

/** What admission knows of a request. */
export interface Demand {
  readonly choices: number
  readonly promptTokens: number
  /** Prompt and completion at most. */
  readonly totalTokens: number
}

/** The rows that run on the same weights, and the pages that they may come to need. */
interface Lane {
  rows: number
  pages: number
  /** What its cache takes now; never more than was promised at some time. */
  allocated: number
}

interface Waiting<Job> {
  readonly job: Job
  readonly demand: Demand
  left: number
}

const emptyLane = (): Lane => ({ rows: 0, pages: 0, allocated: 0 })

export class Admission<Job, Key> {
  readonly limits: Limits
  private readonly queue: Array<Waiting<Job>> = []
  private readonly lanes = new Map<Key, Lane>()
  /** Bytes of prompts that are kept until all their choices have begun. */
  private readonly prompts = new Map<Job, number>()
  rows = 0
  waiting = 0

  constructor(limits: Limits) {
    this.limits = limits
  }

  /** Bytes promised. */
  get bytes(): number {
    let sum = 0
    for (const lane of this.lanes.values()) sum += this.promised(lane)
    for (const bytes of this.prompts.values()) sum += bytes
    return sum
  }

  /** Whether there is room for one choice when nothing else runs. */
  fits({ promptTokens, totalTokens }: Demand): boolean {
    const { kvBytes, shape } = this.limits
    return bytesFor(shape, [promptTokens], promptPage) + bytesFor(shape, [totalTokens]) <= kvBytes
  }

  /** The longest prompt and completion that have room at all, in tokens. */
  get longest(): number {
    let [low, high] = [0, 2 ** 24]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.fits({ choices: 1, promptTokens: middle, totalTokens: middle })) low = middle
      else high = middle
    }
    return low
  }

  /** False where too many wait already. One request may always wait, however many choices it has. */
  offer(job: Job, demand: Demand): boolean {
    if (this.waiting > 0 && this.waiting + demand.choices > this.limits.maxWaiting) return false
    this.queue.push({ job, demand, left: demand.choices })
    this.waiting += demand.choices
    return true
  }

  /** Promises room to the head of the queue: how many of its choices may begin. `key` names its lane when it begins. */
  next(key: (job: Job) => Key): { readonly job: Job; readonly choices: number; readonly isLast: boolean } | undefined {
    const [head] = this.queue
    if (head === undefined || this.rows >= this.limits.maxRows) return undefined
    const { demand, job } = head
    const laneKey = key(job)
    const lane = this.lanes.get(laneKey) ?? emptyLane()
    const prompt = bytesFor(this.limits.shape, [demand.promptTokens], promptPage)
    const others = this.bytes - this.promised(lane) - (this.prompts.get(job) ?? 0)
    const left = this.limits.kvBytes - others - prompt
    const pages = pagesFor(demand.totalTokens)
    const takes = (more: number) => bytesOf(this.limits.shape, lane.rows + more, lane.pages + more * pages)
    let choices = Math.min(head.left, this.limits.maxRows - this.rows)
    while (choices > 0 && takes(choices) > left) choices--
    if (choices === 0) return undefined
    head.left -= choices
    this.waiting -= choices
    if (head.left === 0) this.queue.shift()
    this.prompts.set(job, prompt)
    this.lanes.set(laneKey, lane)
    this.change(lane, demand.totalTokens, choices)
    return { job, choices, isLast: head.left === 0 }
  }

  /** The prompt's own memory is gone: all of its choices have begun, or none will. */
  promptDone(job: Job): void {
    this.prompts.delete(job)
  }

  /** Gives back the row of one choice. */
  release(key: Key, demand: Demand): void {
    const lane = this.lanes.get(key)
    if (lane === undefined) return
    this.change(lane, demand.totalTokens, -1)
    if (lane.rows === 0) this.lanes.delete(key)
  }

  /** One choice goes on in another lane. */
  move(from: Key, to: Key, demand: Demand): void {
    this.release(from, demand)
    const lane = this.lanes.get(to) ?? emptyLane()
    this.lanes.set(to, lane)
    this.change(lane, demand.totalTokens, 1)
  }

  /** Says what the lane's cache takes. */
  measured(key: Key, bytes: number): void {
    const lane = this.lanes.get(key)
    if (lane !== undefined) lane.allocated = bytes
  }

  /** Takes what is still waiting of a request out of the queue. */
  withdraw(job: Job): void {
    const index = this.queue.findIndex((waiting) => waiting.job === job)
    if (index < 0) return
    const [{ left }] = this.queue.splice(index, 1) as [Waiting<Job>]
    this.waiting -= left
  }

  /** The head of the queue. */
  get head(): Job | undefined {
    return this.queue[0]?.job
  }

  private promised(lane: Lane): number {
    if (lane.rows === 0) return 0
    return Math.max(bytesOf(this.limits.shape, lane.rows, lane.pages), lane.allocated)
  }

  private change(lane: Lane, total: number, rows: number): void {
    lane.rows += rows
    lane.pages += rows * pagesFor(total)
    this.rows += rows
  }
}
