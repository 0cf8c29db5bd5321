/** The attributes of `loop` in a Jinja template. */
import * as Values from "./Values.ts"

type Attributes = ReadonlyMap<string, () => Values.Value>

/** Attributes at each index of a loop over these items, at this nesting depth. */
export const make = (items: ReadonlyArray<Values.Value>, depth: number): ((at: number) => Attributes) => {
  let changed: ReadonlyArray<Values.Value> | undefined
  const hasChanged = ({ positional }: Values.Arguments) => {
    const isSame = changed !== undefined && Values.equals([...changed], [...positional])
    changed = positional
    return !isSame
  }
  const neighbour = (at: number, what: string) =>
    at >= 0 && at < items.length ? items[at] : new Values.Undefined(`there is no ${what} item: it`)
  return (at) => {
    const cycle = ({ positional }: Values.Arguments) => positional[at % positional.length]
    const attributes: ReadonlyArray<readonly [string, () => Values.Value]> = [
      ["index", () => BigInt(at + 1)],
      ["index0", () => BigInt(at)],
      ["revindex", () => BigInt(items.length - at)],
      ["revindex0", () => BigInt(items.length - at - 1)],
      ["first", () => at === 0],
      ["last", () => at === items.length - 1],
      ["length", () => BigInt(items.length)],
      ["depth", () => BigInt(depth + 1)],
      ["depth0", () => BigInt(depth)],
      ["previtem", () => neighbour(at - 1, "previous")],
      ["nextitem", () => neighbour(at + 1, "next")],
      ["cycle", () => new Values.Callable("cycle", cycle)],
      ["changed", () => new Values.Callable("changed", hasChanged)]
    ]
    return new Map(attributes)
  }
}
