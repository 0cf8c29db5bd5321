/** Methods of Python's `str`, by code points. */
import { type Arguments, isNumber, iterate, numberOf, refuse, Tuple, typeOf, type Value } from "./Values.ts"
import { bind, str } from "./Written.ts"

const text = (value: Value, label: string): string =>
  typeof value === "string" ? value : refuse(`${label}() expects a str, not ${typeOf(value)}`)

const count = (value: Value, otherwise: number): number =>
  value === undefined || value === null
    ? otherwise
    : isNumber(value)
      ? Number(numberOf(value))
      : refuse(`an int is expected, not ${typeOf(value)}`)

/** ASCII separators count as whitespace, a byte order mark does not. */
// oxlint-disable-next-line no-control-regex -- the separators
const blank = /[\p{White_Space}\x1c-\x1f]/u
const isBlank = (one: string): boolean => blank.test(one)

export const strip = (all: string, characters: string | undefined, ends: "both" | "left" | "right"): string => {
  const points = Array.from(all)
  const isKept = (one: string) => (characters === undefined ? !isBlank(one) : !characters.includes(one))
  const from = ends === "right" ? 0 : points.findIndex(isKept)
  const to = ends === "left" ? points.length : points.findLastIndex(isKept) + 1
  return from === -1 ? "" : points.slice(from, to).join("")
}

/** Splits at whitespace, ignoring it at the ends. */
const splitBlanks = (all: string, most: number): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let rest = strip(all, undefined, "left")
  while (rest !== "") {
    const at = rest.search(blank)
    if (parts.length === most || at === -1) {
      parts.push(rest)
      break
    }
    parts.push(rest.slice(0, at))
    rest = strip(rest.slice(at), undefined, "left")
  }
  return parts
}

const splitAt = (all: string, by: string, most: number): ReadonlyArray<string> => {
  if (by === "") return refuse("empty separator")
  const parts = all.split(by)
  return most < 0 || parts.length <= most + 1 ? parts : [...parts.slice(0, most), parts.slice(most).join(by)]
}

const rsplitAt = (all: string, by: string, most: number): ReadonlyArray<string> => {
  if (by === "") return refuse("empty separator")
  const parts = all.split(by)
  const first = parts.length - most
  return most < 0 || first <= 1 ? parts : [parts.slice(0, first).join(by), ...parts.slice(first)]
}

const rsplitBlanks = (all: string, most: number): ReadonlyArray<string> => {
  const reversed = splitBlanks(Array.from(all).toReversed().join(""), most)
  return reversed.toReversed().map((part) => Array.from(part).toReversed().join(""))
}

const ends = "\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029"
const line = new RegExp(`([^${ends}]*)(\\r\\n|[${ends}]|$)`, "g")

export const lines = (all: string, keepsEnds = false): ReadonlyArray<string> =>
  Array.from(all.matchAll(line))
    .filter(([whole]) => whole !== "")
    .map(([whole, line = ""]) => (keepsEnds ? whole : line))

export const replace = (all: string, old: string, by: string, most: number): string => {
  if (most < 0) return all.replaceAll(old, () => by)
  const parts = old === "" ? ["", ...Array.from(all), ""] : all.split(old)
  const kept = parts.slice(0, most + 1).join(by)
  const rest = parts.slice(most + 1)
  return rest.length === 0 ? kept : kept + old + rest.join(old)
}

/** Letters that print two have a title case: ǆ is ǅ, not Ǆ. */
const titleCase = new Map(Array.from("ǅǈǋǲᾈᾉᾊᾋᾌᾍᾎᾏᾘᾙᾚᾛᾜᾝᾞᾟᾨᾩᾪᾫᾬᾭᾮᾯᾼῌῼ", (one) => [one.toLowerCase(), one] as const))

/** A letter whose upper case is several has one of them: ﬁ is Fi, and ŉ is ʼN. */
const titled = (first: string): string => {
  const [head = "", ...rest] = Array.from(first.toUpperCase())
  const isLetter = head !== head.toLowerCase()
  return titleCase.get(first.toLowerCase()) ?? head + (isLetter ? rest.join("").toLowerCase() : rest.join(""))
}

/** Capitalizes every word, a word being consecutive letters that have cases. */
const title = (all: string): string =>
  all.replace(/\p{Cased}+/gu, (word) => {
    const [first = "", ...rest] = Array.from(word)
    return titled(first) + rest.join("").toLowerCase()
  })

export const capitalize = (all: string): string => {
  const [first = "", ...rest] = Array.from(all)
  return titled(first) + rest.join("").toLowerCase()
}

/** The part from `start` to `end`, counted in code points, where it begins, and whether that is within the text. */
const partOf = (all: string, { positional: [, start, end] }: Arguments) => {
  const points = Array.from(all)
  const bound = (value: Value, otherwise: number) => {
    const at = count(value, otherwise)
    return Math.min(Math.max(at < 0 ? at + points.length : at, 0), points.length)
  }
  const from = bound(start, 0)
  const part = points.slice(from, bound(end, points.length)).join("")
  return { from, part, isWithin: count(start, 0) <= points.length }
}

/** Place of a text within a part; -1 if it is not there. */
const find = (all: string, given: Arguments, isLast: boolean): number => {
  const [needle] = given.positional
  const { from, part } = partOf(all, given)
  const at = isLast ? part.lastIndexOf(text(needle, "find")) : part.indexOf(text(needle, "find"))
  return at === -1 ? -1 : from + Array.from(part.slice(0, at)).length
}

const affix = (value: Value, label: string): ReadonlyArray<string> =>
  value instanceof Tuple ? value.items.map((one) => text(one, label)) : [text(value, label)]

const fill = (all: string, { positional }: Arguments, place: "left" | "right" | "both"): string => {
  const room = Math.max(0, count(positional[0], 0) - Array.from(all).length)
  const by = positional[1] === undefined ? " " : text(positional[1], "ljust")
  // As in Python: with an odd width, the odd one goes to the left.
  const width = count(positional[0], 0)
  const left = place === "left" ? room : place === "right" ? 0 : Math.floor(room / 2) + (room & width & 1)
  return by.repeat(left) + all + by.repeat(room - left)
}

const format = (all: string, { named, positional }: Arguments): string => {
  let next = 0
  return all.replace(/\{\{|\}\}|\{(\w*)\}|\{[^{}]*\}/g, (whole, name: string | undefined) => {
    if (whole === "{{" || whole === "}}") return whole[0]!
    if (name === undefined) return refuse(`the format ${whole} is not supported`)
    const value = name === "" ? positional[next++] : /^\d+$/.test(name) ? positional[Number(name)] : named.get(name)
    return value === undefined ? refuse(`no value for ${whole} of a format`) : str(value)
  })
}

const matches = (pattern: RegExp) => (all: string) => pattern.test(all)
const hasCase = (all: string): boolean => /\p{Lu}|\p{Ll}|\p{Lt}/u.test(all)

const checks: { readonly [name: string]: (all: string) => boolean } = {
  isalpha: matches(/^\p{L}+$/u),
  isdigit: matches(/^[\p{Nd}\u00b2\u00b3\u00b9\u2070-\u2079\u2080-\u2089]+$/u),
  isdecimal: matches(/^\p{Nd}+$/u),
  isnumeric: matches(/^\p{N}+$/u),
  isalnum: matches(/^[\p{L}\p{N}]+$/u),
  isspace: (all) => all !== "" && Array.from(all).every(isBlank),
  isascii: (all) => Array.from(all).every((one) => one < "\x80"),
  isidentifier: matches(/^[\p{L}_][\p{L}\p{N}\p{M}_]*$/u),
  isupper: (all) => hasCase(all) && all === all.toUpperCase(),
  islower: (all) => hasCase(all) && all === all.toLowerCase(),
  istitle: (all) => hasCase(all) && all === title(all)
}

type Method = (all: string, given: Arguments) => Value

const trimmed =
  (ends: "both" | "left" | "right", label: string): Method =>
  (all, given) => {
    const { chars } = bind(label, given, ["chars"])
    return strip(all, chars === undefined || chars === null ? undefined : text(chars, label), ends)
  }

const methods: { readonly [name: string]: Method } = {
  upper: (all) => all.toUpperCase(),
  lower: (all) => all.toLowerCase(),
  casefold: (all) =>
    Array.from(all, (one) => (one === "ı" ? one : one.toLowerCase().toUpperCase().toLowerCase())).join(""),
  swapcase: (all) =>
    Array.from(all, (one) => (one === one.toUpperCase() ? one.toLowerCase() : one.toUpperCase())).join(""),
  title,
  capitalize,
  strip: trimmed("both", "strip"),
  lstrip: trimmed("left", "lstrip"),
  rstrip: trimmed("right", "rstrip"),
  startswith: (all, given) => {
    const { isWithin, part } = partOf(all, given)
    return affix(given.positional[0], "startswith").some((one) => isWithin && part.startsWith(one))
  },
  endswith: (all, given) => {
    const { isWithin, part } = partOf(all, given)
    return affix(given.positional[0], "endswith").some((one) => isWithin && part.endsWith(one))
  },
  removeprefix: (all, { positional: [prefix] }) =>
    all.startsWith(text(prefix, "removeprefix")) ? all.slice(text(prefix, "removeprefix").length) : all,
  removesuffix: (all, { positional: [suffix] }) => {
    const end = text(suffix, "removesuffix")
    return end !== "" && all.endsWith(end) ? all.slice(0, -end.length) : all
  },
  split: (all, given) => {
    const { maxsplit, sep } = bind("split", given, ["sep", "maxsplit"])
    const most = count(maxsplit, -1)
    return [...(sep === undefined || sep === null ? splitBlanks(all, most) : splitAt(all, text(sep, "split"), most))]
  },
  rsplit: (all, given) => {
    const { maxsplit, sep } = bind("rsplit", given, ["sep", "maxsplit"])
    const most = count(maxsplit, -1)
    return [...(sep === undefined || sep === null ? rsplitBlanks(all, most) : rsplitAt(all, text(sep, "rsplit"), most))]
  },
  splitlines: (all, given) => [...lines(all, bind("splitlines", given, ["keepends"])["keepends"] === true)],
  partition: (all, { positional: [by] }) => {
    const at = all.indexOf(text(by, "partition"))
    return new Tuple(at === -1 ? [all, "", ""] : [all.slice(0, at), by, all.slice(at + text(by, "partition").length)])
  },
  rpartition: (all, { positional: [by] }) => {
    const at = all.lastIndexOf(text(by, "rpartition"))
    return new Tuple(at === -1 ? ["", "", all] : [all.slice(0, at), by, all.slice(at + text(by, "rpartition").length)])
  },
  replace: (all, given) => {
    const { count: most, new: by, old } = bind("replace", given, ["old", "new", "count"])
    return replace(all, text(old, "replace"), text(by, "replace"), count(most, -1))
  },
  join: (all, { positional: [items] }) =>
    iterate(items)
      .map((one, at) =>
        typeof one === "string" ? one : refuse(`sequence item ${at}: expected str instance, ${typeOf(one)} found`)
      )
      .join(all),
  find: (all, given) => BigInt(find(all, given, false)),
  rfind: (all, given) => BigInt(find(all, given, true)),
  index: (all, given) => {
    const at = find(all, given, false)
    return at === -1 ? refuse("substring not found") : BigInt(at)
  },
  rindex: (all, given) => {
    const at = find(all, given, true)
    return at === -1 ? refuse("substring not found") : BigInt(at)
  },
  count: (all, given) => {
    const one = text(given.positional[0], "count")
    const { isWithin, part } = partOf(all, given)
    return BigInt(!isWithin ? 0 : one === "" ? Array.from(part).length + 1 : part.split(one).length - 1)
  },
  zfill: (all, { positional: [width] }) => {
    const [sign = ""] = /^[+-]/.exec(all) ?? []
    const missing = Math.max(0, count(width, 0) - Array.from(all).length)
    return sign + "0".repeat(missing) + all.slice(sign.length)
  },
  ljust: (all, given) => fill(all, given, "right"),
  rjust: (all, given) => fill(all, given, "left"),
  center: (all, given) => fill(all, given, "both"),
  expandtabs: (all, given) => {
    const size = count(bind("expandtabs", given, ["tabsize"])["tabsize"], 8)
    return all
      .split(/(?<=[\n\r])/)
      .map((line) => {
        let column = 0
        return Array.from(line, (one) => {
          const width = one === "\t" ? (size === 0 ? 0 : size - (column % size)) : 1
          column += width
          return one === "\t" ? " ".repeat(width) : one
        }).join("")
      })
      .join("")
  },
  format
}

/** Max number of arguments of methods without keyword arguments. */
const limits: ReadonlyArray<readonly [most: number, names: ReadonlyArray<string>]> = [
  [0, [...Object.keys(checks), "upper", "lower", "casefold", "swapcase", "title", "capitalize"]],
  [1, ["removeprefix", "removesuffix", "partition", "rpartition", "join", "zfill"]],
  [2, ["ljust", "rjust", "center"]],
  [3, ["startswith", "endswith", "find", "rfind", "index", "rindex", "count"]]
]
const maxArguments = new Map(limits.flatMap(([most, names]) => names.map((name) => [name, most] as const)))

/** A method of a text by its name. */
export const methodOf = (name: string): Method | undefined => {
  const check: Method | undefined = Object.hasOwn(checks, name) ? checks[name] : undefined
  const method = check ?? (Object.hasOwn(methods, name) ? methods[name] : undefined)
  const most = maxArguments.get(name)
  return method === undefined || most === undefined
    ? method
    : (all, given) =>
        given.positional.length > most || given.named.size > 0
          ? refuse(`${name}() takes at most ${most} arguments, without names`)
          : method(all, given)
}
