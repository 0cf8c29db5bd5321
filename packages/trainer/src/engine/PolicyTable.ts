/**
 * Tracks the weights that the engine holds, and their users. A replaced or unloaded version is not given to new
 * requests; it is freed with its last user, and `free` is called once per version. Without a name, the name loaded last
 * is used.
 */

/** One version of weights; `A` is their form for a run. */
export interface Version<A> {
  readonly policy: string
  readonly policyVersion: number
  readonly weights: A
  readonly users: number
}

interface Entry<A> extends Version<A> {
  users: number
  isCurrent: boolean
}

export class PolicyTable<A> {
  private readonly free: (version: Version<A>) => void
  /** By name; the last key is the name loaded last. */
  private readonly current = new Map<string, Entry<A>>()
  private readonly held = new Set<Entry<A>>()

  constructor(free: (version: Version<A>) => void) {
    this.free = free
  }

  load(policy: string, policyVersion: number, weights: A): void {
    this.unload(policy)
    const entry = { policy, policyVersion, weights, users: 0, isCurrent: true }
    this.current.set(policy, entry)
    this.held.add(entry)
  }

  /** Returns false if the name is unknown. */
  unload(policy: string): boolean {
    const entry = this.current.get(policy)
    if (entry === undefined) return false
    this.current.delete(policy)
    entry.isCurrent = false
    this.settle(entry)
    return true
  }

  /** The newest weights of that name, or of the name loaded last. */
  resolve(policy?: string): Version<A> | undefined {
    return policy === undefined ? [...this.current.values()].at(-1) : this.current.get(policy)
  }

  acquire(version: Version<A>): void {
    this.entry(version).users++
  }

  release(version: Version<A>): void {
    const entry = this.entry(version)
    entry.users--
    this.settle(entry)
  }

  get names(): ReadonlyArray<string> {
    return [...this.current.keys()]
  }

  get versions(): ReadonlyArray<Version<A>> {
    return [...this.held]
  }

  private settle(entry: Entry<A>): void {
    if (entry.isCurrent || entry.users > 0) return
    this.held.delete(entry)
    this.free(entry)
  }

  private entry(version: Version<A>): Entry<A> {
    // Only this table creates versions.
    return version as Entry<A>
  }
}
