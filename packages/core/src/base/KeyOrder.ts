/**
 * Remembers in which order a JSON text has the keys of its objects. A JavaScript object moves keys that are digits to
 * the front, so that a template would show `{"b": …, "1": …}` otherwise than Python does.
 *
 * The order is kept beside an object, not in it: whoever copies the object says so (`copy`), and whoever writes or
 * renders it asks for `entries`.
 */

const written = new WeakMap<object, ReadonlyArray<string>>()

/** Keys that JavaScript moves. */
const digits = /"(?:0|[1-9]\d{0,9})"\s*:/

const maxDepth = 512

/** The keys of each object of a JSON text, in the order in which the objects open; none where keys are repeated. */
const scan = (json: string): ReadonlyArray<ReadonlyArray<string>> | undefined => {
  const all: Array<Array<string>> = []
  const open: Array<Array<string> | undefined> = []
  let last = ""
  for (let at = 0; at < json.length; at++) {
    const character = json[at]
    if (character === '"') {
      const from = at++
      while (at < json.length && json[at] !== '"') at += json[at] === "\\" ? 2 : 1
      last = json.slice(from, at + 1)
    } else if (character === "{") {
      const keys: Array<string> = []
      all.push(keys)
      open.push(keys)
    } else if (character === "[") open.push(undefined)
    else if (character === "}" || character === "]") open.pop()
    else if (character === ":") open.at(-1)?.push(String(JSON.parse(last)))
    if (open.length > maxDepth) return undefined
  }
  return all.some((keys) => new Set(keys).size < keys.length) ? undefined : all
}

/** Remembers the order of keys in `value`, which was read from this text. */
export const remember = <A>(json: string, value: A): A => {
  const all = digits.test(json) ? scan(json) : undefined
  if (all === undefined) return value
  let next = 0
  const walk = (one: unknown): void => {
    if (Array.isArray(one)) return one.forEach(walk)
    if (typeof one !== "object" || one === null || isLeaf(one)) return
    const keys = all[next++] ?? []
    if (Object.keys(one).some((key, at) => key !== keys[at])) written.set(one, keys)
    for (const key of keys) walk((one as Readonly<Record<string, unknown>>)[key])
  }
  walk(value)
  return value
}

/** A number that is an object (`ExactJson.Numeral`). */
const isLeaf = (value: object): boolean =>
  Object.getPrototypeOf(value) !== Object.prototype && Object.getPrototypeOf(value) !== null

/** The members of an object, in the order in which its text has them. */
export const entries = (value: object): ReadonlyArray<readonly [key: string, value: unknown]> => {
  const keys = written.get(value)
  return keys === undefined
    ? Object.entries(value)
    : keys.map((key) => [key, (value as Readonly<Record<string, unknown>>)[key]] as const)
}

/** Gives a copy of an object, with the same keys, its order. */
export const copy = <A extends object>(from: object, to: A): A => {
  const keys = written.get(from)
  if (keys !== undefined) written.set(to, keys)
  return to
}

/** Whether a value holds an object whose keys JavaScript has moved. */
export const isMoved = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  (written.has(value) ||
    (Array.isArray(value) ? value.some(isMoved) : !isLeaf(value) && Object.values(value).some(isMoved)))
