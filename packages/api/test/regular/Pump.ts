/**
 * Finds a text on which a regular expression takes more than linear time, by pumping parts of the expression itself.
 *
 * The characters it matches, in order, are the material: every run of them is tried as the repeated part, after nothing
 * or after what precedes it in the expression, and before nothing or before something that it cannot match. Expressions
 * with bounded repetition (`{0,100}`) count as linear here too. Results are measured: time at four times the length is
 * over eight times as long.
 */
import { runInThisContext } from "node:vm"
import * as Growth from "../../../core/test/base/Growth.ts"

/** A slow text: `before`, then `part` repeatedly, then `after`. */
export interface Attack {
  readonly before: string
  readonly part: string
  readonly after: string
  readonly ratio: number
}

const pool = Array.from("a1 \n\t_-.,:;!?*/\\'\"`<>()[]{}=+|$^%#&@~AzZ09éß中あ’“…≤√\u00a0\u2028")

/** The first and the last character of the pool that a class or an escape matches. */
const taken = (source: string, flags: string): ReadonlyArray<string> => {
  const one = new RegExp(`^${source}$`, flags)
  const fitting = pool.filter((character) => one.test(character))
  return fitting.length === 0 ? ["x"] : [fitting[0]!, fitting.at(-1)!]
}

/** A literal word is one place: repeating a part of it is useless. */
const token =
  /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|k<[^>]*>|[^])|\[|\((?:\?(?:<[^=!>]*>|<?[=!]|[:a-z-]+:?))?|\{\d+(?:,\d*)?\}|\p{L}{2,}(?![*+?{])|[^]/gu

/** The end of a class that begins here. */
const classEnd = ({ flags, source }: RegExp, from: number): number => {
  let depth = 0
  for (let at = from; at < source.length; at++) {
    if (source[at] === "\\") at++
    else if (source[at] === "[" && (depth === 0 || flags.includes("v"))) depth++
    else if (source[at] === "]" && --depth === 0) return at + 1
  }
  return source.length
}

interface Material {
  /** The possible texts of each place. */
  readonly places: ReadonlyArray<ReadonlyArray<string>>
  /** Places where a group or a choice begins. */
  readonly starts: ReadonlySet<number>
}

/** The texts that the expression matches, place by place, groups and choices one after the other. */
const materialOf = (expression: RegExp): Material => {
  const { flags, source } = expression
  const places: Array<ReadonlyArray<string>> = []
  const starts = new Set([0])
  const plain = flags.replaceAll(/[gyd]/g, "")
  token.lastIndex = 0
  for (let found = token.exec(source); found !== null; found = token.exec(source)) {
    const [text] = found
    if (text === "[") {
      const end = classEnd(expression, found.index)
      places.push(taken(source.slice(found.index, end), plain))
      token.lastIndex = end
    } else if (text === ".") places.push(["a", "1"])
    else if (text.startsWith("(") || text === "|") starts.add(places.length)
    else if (/^(?:\\[bBk1-9].*|[)*+?^$]|\{\d+(?:,\d*)?\})$/.test(text)) continue
    else if (text.startsWith("\\")) places.push(/^\\[a-zA-Z]/.test(text) ? taken(text, plain) : [text.slice(1)])
    else places.push([text])
  }
  return { places, starts }
}

const longestPart = 16
const mostPaired = 16

type Candidate = Pick<Attack, "before" | "part">

const allCandidates = function* (expression: RegExp): Generator<Candidate> {
  const { places, starts } = materialOf(expression)
  const single = Array.from(new Set(places.flat())).toSorted((a, b) => a.length - b.length)
  for (const part of single) yield { before: "", part }
  for (const pick of [(some: ReadonlyArray<string>) => some[0]!, (some: ReadonlyArray<string>) => some.at(-1)!]) {
    const line = places.map(pick)
    for (let from = 0; from < line.length; from++) {
      const before = line.slice(0, from).join("")
      const longest = starts.has(from) ? longestPart : 3
      for (let to = from + 1; to <= Math.min(line.length, from + longest); to++) {
        const part = line.slice(from, to).join("")
        yield { before: "", part }
        if (before !== "") yield { before, part }
      }
      // A later part of the expression may match the repeated one.
      for (const part of [" ", line[from]!]) yield { before: before + line[from]!, part }
    }
  }
  for (const one of single.slice(0, mostPaired)) {
    for (const two of single.slice(0, mostPaired)) yield { before: "", part: one + two }
  }
}

/** Deduplicated: places that match only one character give the same from both ends. */
const candidates = (expression: RegExp): ReadonlyArray<Candidate> => {
  const all = Array.from(allCandidates(expression), (one) => [`${one.before}\u0001${one.part}`, one] as const)
  return Array.from(new Map(all).values())
}

const reader = (expression: RegExp): ((text: string) => unknown) => {
  const { flags } = expression
  return flags.includes("g") && !flags.includes("y")
    ? (text) => text.replaceAll(expression, "")
    : (text) => {
        expression.lastIndex = 0
        return expression.exec(text)
      }
}

const pumped = ({ after, before, part }: Omit<Attack, "ratio">, length: number): string =>
  before + part.repeat(Math.ceil(length / part.length)) + after

// Close together: some expressions take twice as long with every character.
const shortLengths = [20, 26, 34, 44, 57, 74, 97, 126, 163, 212, 276, 359, 467]
const longLength = 8000
const lengths = [...shortLengths, longLength]
/** Linear time is far below it; longer times are measured at two lengths. */
const suspiciousMillis = 0.5

/** True if work takes longer than that, by a clock that is far cheaper than processor time. */
const isLonger = (millis: number, work: () => void): boolean => {
  const from = performance.now()
  work()
  return performance.now() - from > millis
}

/** Some machines count processor time in steps of 8 ms: a shorter sum is mostly error. */
const preciseMillis = 40
const maxRepetitions = 64

/** Milliseconds of processor time, as a mean of so many times that their sum is precise. */
const millis = (read: (text: string) => unknown, text: string): number => {
  for (let times = 1; ; times *= 2) {
    const spent = Growth.millisOf(() => {
      for (let once = 0; once < times; once++) read(text)
    })
    if (spent >= preciseMillis || times >= maxRepetitions) return spent / times
  }
}

/** `millis` if it is at least that long: once by the cheap clock, which is never behind, rules out the other texts. */
const millisFrom = (least: number, read: (text: string) => unknown, text: string): number | undefined => {
  if (!isLonger(least, () => read(text))) return undefined
  const spent = millis(read, text)
  return spent < least ? undefined : spent
}

/**
 * True if a text is worth a measurement at two lengths. `linear`: milliseconds that the expression takes for a long
 * text if it is linear; some need more per character than others.
 */
const isSuspicious = (read: (text: string) => unknown, attack: Omit<Attack, "ratio">, linear: number): boolean => {
  const short = shortLengths.map((length) => pumped(attack, length))
  const long = pumped(attack, longLength)
  const longMillis = Math.max(suspiciousMillis, 2 * linear)
  const isShortSlow = isLonger(suspiciousMillis, () => short.forEach((text) => read(text)))
  if (isShortSlow && short.some((text) => millis(read, text) > suspiciousMillis)) return true
  return isLonger(longMillis, () => read(long)) && millis(read, long) > longMillis
}

const longest = 64_000

/** The factor by which four times the length takes longer. */
const growth = (read: (text: string) => unknown, attack: Omit<Attack, "ratio">): number => {
  let length = 12
  let short = millisFrom(1, read, pumped(attack, length))
  while (short === undefined && length < longest) {
    length = Math.ceil(length * 1.2)
    short = millisFrom(1, read, pumped(attack, length))
  }
  if (short === undefined || length >= longest) return 0
  // A few more characters double an exponential, but hardly a polynomial.
  const isSteep = length < 200
  const long = millis(read, pumped(attack, Math.ceil(length * (isSteep ? 1.12 : 4))))
  return (long / short) * (isSteep ? 4 : 1)
}

/** Without an unbounded or large repetition there is nothing to pump. */
const repeats = /[*+]|\{\d+,\}|\{\d{2,}|,\d{2,}\}/

/** Runs it with a timeout; false if that was not enough. V8 can be stopped in the middle of an expression. */
const isDoneBefore = (timeout: number, work: () => void): boolean => {
  const run = runInThisContext("(work) => { globalThis.pumping = work }") as (work: () => void) => void
  run(work)
  try {
    runInThisContext("globalThis.pumping()", { timeout })
    return true
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return false
    throw error
  }
}

/** `isDoneBefore` for processor time: the clock continues while other programs have the processor. */
const isDoneWithin = (millis: number, work: () => void): boolean => {
  for (let timeout = millis; ; timeout *= 2) {
    let isDone = false
    const spent = Growth.millisOf(() => (isDone = isDoneBefore(timeout, work)))
    if (isDone || spent >= millis) return isDone
  }
}

/** What four times the length may take, as a factor. */
const maxGrowth = 8
const turnMillis = 1000

/** A text on which it takes more than linear time; undefined if none was found. */
export const attackOn = (expression: RegExp): Attack | undefined => {
  if (!repeats.test(expression.source)) return undefined
  const read = reader(expression)
  for (const text of ["warm", "warm".repeat(20), "wärm…"]) read(text)
  const rest = candidates(expression)
  let found: Attack | undefined
  let linear = 0
  let tried: Omit<Attack, "ratio"> = { before: "", part: "x", after: "" }
  let at = 0
  const search = (): void => {
    for (; at < rest.length; at++) {
      for (const after of ["", "\u0000", "\n"]) {
        tried = { ...rest[at]!, after }
        if (!isSuspicious(read, tried, linear)) continue
        // Other programs, and the collector, can distort a single measurement.
        const first = growth(read, tried)
        const ratio = first > maxGrowth ? Math.min(first, growth(read, tried)) : first
        if (ratio > maxGrowth) {
          found = { ...tried, ratio }
          return
        }
        linear = Math.max(linear, millis(read, pumped(tried, longLength)))
      }
    }
  }
  for (let turn = turnMillis; !isDoneBefore(turn, search); turn *= 2) {
    // Either it hangs on this text, or there are too many texts for this time.
    const stalls = lengths.some((length) => !isDoneWithin(turnMillis / 4, () => void read(pumped(tried, length))))
    if (stalls) return { ...tried, ratio: Infinity }
  }
  return found
}
