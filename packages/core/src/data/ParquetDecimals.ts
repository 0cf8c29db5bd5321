/**
 * Reads Parquet decimals at full precision: hyparquet makes doubles of them, so their columns are read as the stored
 * integers and bytes, and converted to decimal text here.
 */
import type { FileMetaData, SchemaElement } from "hyparquet"
import * as ExactJson from "../base/json/ExactJson.ts"

const marked = "\u0000decimal"

/** Decimal text on its way between threads, which cannot transfer class instances. */
export interface Marked {
  readonly [marked]: string
}

export const mark = (text: string): Marked => ({ [marked]: text })

/** A value from the other thread, with a numeral for each decimal. */
export const unmarked = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(unmarked)
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  if (marked in value) return ExactJson.decimal(String(value[marked]))
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, unmarked(one)]))
}

interface Node {
  readonly element: SchemaElement
  readonly children: ReadonlyArray<Node>
}

const isDecimal = ({ converted_type: converted, logical_type: logical }: SchemaElement): boolean =>
  converted === "DECIMAL" || logical?.type === "DECIMAL"

const scaleOf = ({ logical_type: logical, scale }: SchemaElement): number =>
  scale ?? (logical?.type === "DECIMAL" ? logical.scale : 0)

/** Metadata with which hyparquet leaves decimals as stored. */
export const stored = (metadata: FileMetaData): FileMetaData => ({
  ...metadata,
  schema: metadata.schema.map((element) => {
    if (!isDecimal(element)) return element
    const { converted_type: _, logical_type: __, ...rest } = element
    return rest
  })
})

/** Two's complement, most significant byte first. */
const integerOf = (bytes: Uint8Array): bigint =>
  BigInt.asIntN(
    bytes.length * 8,
    bytes.reduce((value, byte) => value * 256n + BigInt(byte), 0n)
  )

const textOf = (value: bigint, scale: number): string => {
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, "0")
  const point = digits.length - scale
  const fraction = scale > 0 ? `.${digits.slice(point)}` : ""
  return `${value < 0n ? "-" : ""}${digits.slice(0, point)}${fraction}`
}

const treeOf = (schema: ReadonlyArray<SchemaElement>): Node => {
  let at = 0
  const next = (): Node => {
    const element = schema[at++]!
    return { element, children: Array.from({ length: element.num_children ?? 0 }, next) }
  }
  return next()
}

const hasDecimals = ({ children, element }: Node): boolean => isDecimal(element) || children.some(hasDecimals)

/** The element of a list: Parquet has two layers around it, old writers one. */
const itemOf = (node: Node): Node => {
  const [layer] = node.children
  if (node.children.length !== 1 || layer?.element.repetition_type !== "REPEATED") return node
  return layer.children.length === 1 ? layer.children[0]! : layer
}

type Row = Readonly<Record<string, unknown>>

/** Converts the decimals of rows, with `make` applied to decimal text; undefined if the file has none. */
export const reader = (metadata: FileMetaData, make: (text: string) => unknown): ((row: Row) => Row) | undefined => {
  const root = treeOf(metadata.schema)
  if (!hasDecimals(root)) return undefined
  const read = (value: unknown, node: Node): unknown => {
    if (value === null || value === undefined || !hasDecimals(node)) return value
    if (value instanceof Uint8Array) return make(textOf(integerOf(value), scaleOf(node.element)))
    if (typeof value === "number" || typeof value === "bigint")
      return make(textOf(BigInt(value), scaleOf(node.element)))
    if (Array.isArray(value)) return value.map((one) => read(one, itemOf(node)))
    return typeof value === "object" ? readObject(value as Row, node) : value
  }
  const readObject = (value: Row, node: Node): Row => {
    const byName = new Map(node.children.map((child) => [child.element.name, child]))
    // The keys of a map are data; its values have one type.
    const ofMap = itemOf(node).children.find(({ element }) => element.name === "value")
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => {
        const child = byName.get(key) ?? ofMap
        return [key, child === undefined ? one : read(one, child)]
      })
    )
  }
  return (row) => readObject(row, root)
}
