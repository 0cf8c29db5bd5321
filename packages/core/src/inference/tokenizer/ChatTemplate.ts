/**
 * A chat template in Jinja, rendered as by `transformers`, with its functions and variables. Month names are always
 * English.
 */
import { Interpreter } from "../jinja/Interpreter.ts"
import { parse } from "../jinja/Parser.ts"
import * as Values from "../jinja/Values.ts"

const maxRangeLength = 100_000

const range = ({ named, positional }: Values.Arguments): Values.Range => {
  if (named.size > 0) return Values.refuse("range() takes no keyword arguments")
  if (positional.length < 1 || positional.length > 3) {
    return Values.refuse(`range expected 1 to 3 arguments, got ${positional.length}`)
  }
  const whole = positional.map((one) =>
    typeof one === "bigint" || typeof one === "boolean"
      ? BigInt(one)
      : Values.refuse(`'${Values.typeOf(one)}' object cannot be interpreted as an integer`)
  )
  const [start, stop, step = 1n] = whole.length === 1 ? [0n, whole[0]!] : [whole[0]!, whole[1]!, whole[2]]
  if (step === 0n) return Values.refuse("range() arg 3 must not be zero")
  const length = Values.rangeLength(start, stop, step)
  if (length > maxRangeLength) return Values.refuse(`range() of ${length} numbers is too long`)
  return new Values.Range(start, stop, step)
}

const months = new Intl.DateTimeFormat("en", { month: "long" })
const days = new Intl.DateTimeFormat("en", { weekday: "long" })

const two = (value: number): string => String(value).padStart(2, "0")

/** Python's `strftime` of the current local time, for the codes that templates use. */
const strftimeNow = (format: string): string => {
  const now = new Date()
  const parts: { readonly [code: string]: () => string } = {
    Y: () => String(now.getFullYear()),
    y: () => two(now.getFullYear() % 100),
    m: () => two(now.getMonth() + 1),
    d: () => two(now.getDate()),
    H: () => two(now.getHours()),
    I: () => two(now.getHours() % 12 || 12),
    p: () => (now.getHours() < 12 ? "AM" : "PM"),
    M: () => two(now.getMinutes()),
    S: () => two(now.getSeconds()),
    B: () => months.format(now),
    b: () => months.format(now).slice(0, 3),
    A: () => days.format(now),
    a: () => days.format(now).slice(0, 3),
    "%": () => "%"
  }
  return format.replace(/%([A-Za-z%])/g, (whole, code: string) => parts[code]?.() ?? whole)
}

const dict = ({ named, positional: [first] }: Values.Arguments): Map<Values.Value, Values.Value> => {
  const pairs =
    first === undefined
      ? []
      : first instanceof Map
        ? [...first]
        : Values.iterate(first).map((pair) => {
            const [key, value] = Values.iterate(pair)
            return [key, value] as const
          })
  return new Map<Values.Value, Values.Value>([...pairs, ...named])
}

const joiner = ({ positional: [by = ", "] }: Values.Arguments): Values.Callable => {
  let isUsed = false
  return new Values.Callable("joiner", () => {
    const before = isUsed ? by : ""
    isUsed = true
    return before
  })
}

const cycler = ({ positional }: Values.Arguments): Values.Callable => {
  let at = 0
  const next = () => positional[at++ % positional.length]
  const attributes: ReadonlyArray<readonly [string, () => Values.Value]> = [
    ["current", () => positional[at % positional.length]],
    ["next", () => new Values.Callable("next", next)],
    ["reset", () => new Values.Callable("reset", () => ((at = 0), null))]
  ]
  return new Values.Callable("cycler", next, new Map(attributes))
}

const functions: { readonly [name: string]: (given: Values.Arguments) => Values.Value } = {
  range,
  dict,
  joiner,
  cycler,
  namespace: (given) => {
    const members = dict(given)
    return new Values.Namespace(new Map(Array.from(members, ([key, value]) => [String(key), value])))
  },
  lipsum: () => Values.refuse("the function lipsum is not supported"),
  strftime_now: ({ positional: [format] }) => strftimeNow(String(format)),
  raise_exception: ({ positional: [message] }) => {
    throw new Error(String(message))
  }
}

const globals = Object.entries(functions).map(([name, call]) => [name, new Values.Callable(name, call)] as const)

export type Render = (given: { readonly [name: string]: unknown }) => string

/** Throws if the source is not a valid template; rendering throws if the template rejects a chat. */
export const make = (source: string): Render => {
  const parsed = parse(source)
  const interpreter = new Interpreter()
  return (given) => {
    const names = Object.entries(given).map(([name, value]) => [name, Values.from(value)] as const)
    return interpreter.render(parsed, new Map<string, Values.Value>([...globals, ...names]))
  }
}
