/**
 * A graph as an ONNX model (https://onnx.ai/onnx/repo-docs/IR.html, opset 21).
 *
 * Nodes that no output needs are left out. Constants in files stay there: the model names file, offset and length.
 */
import { dirname, relative, resolve } from "node:path"
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { type Dim, dimSymbols } from "./Dim.ts"
import { byteSize, onnxCode } from "./DType.ts"
import {
  type AttributeProtoSchema,
  ModelProtoSchema,
  type NodeProtoSchema,
  type TensorProtoSchema,
  type ValueInfoProtoSchema
} from "./gen/onnx_pb.ts"
import { type Pieces, run } from "../base/Pieces.ts"
import type { Graph } from "./Graph.ts"
import { InvalidGraph } from "./GraphError.ts"
import { nodeOrder } from "./NodeOrder.ts"
import type { Attribute, Initializer, Node, Value } from "./Value.ts"

/** What an executor loads. */
export interface OnnxModel {
  readonly onnx: Uint8Array
  readonly external: {
    /** What the files' names in the model are relative to; undefined where no constant lies in a file. */
    readonly folder: string | undefined
  }
}

const irVersion = 10n
const opset = 21n

/** One mistake can show at every node: more than this many say no more. */
const mostProblems = 8

/** Nodes between two pieces. */
const nodesAPiece = 1000

/** The graph as bytes, and the files it refers to. */
export const toOnnx = (graph: Graph): OnnxModel => run(toOnnxPieces(graph))

/** The same in pieces: a message of protobuf may be written in parts, which its reader merges. */
export function* toOnnxPieces(graph: Graph): Pieces<OnnxModel> {
  const nodes = nodeOrder(graph)
  yield
  const used = new Set(nodes.flatMap(({ inputs }) => inputs))
  const initializers = graph.initializers.filter(({ value }) => used.has(value))
  validate(graph, nodes, initializers)
  yield
  const folder = commonFolder(initializers)
  const parts = [
    bytes({
      irVersion,
      producerName: "atropos",
      opsetImport: [
        { domain: "", version: opset },
        { domain: "com.microsoft", version: 1n }
      ],
      graph: {
        name: "graph",
        input: graph.inputs.map(valueInfo),
        output: graph.outputs.map(valueInfo),
        initializer: initializers.map((initializer) => tensor(initializer, folder))
      }
    })
  ]
  for (let at = 0; at < nodes.length; at += nodesAPiece) {
    yield
    parts.push(bytes({ graph: { node: nodes.slice(at, at + nodesAPiece).map(nodeProto) } }))
  }
  return { onnx: joined(parts), external: { folder } }
}

const bytes = (model: MessageInitShape<typeof ModelProtoSchema>): Uint8Array =>
  toBinary(ModelProtoSchema, create(ModelProtoSchema, model))

const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

const nodeProto = ({ attributes, domain, inputs, op, outputs }: Node): MessageInitShape<typeof NodeProtoSchema> => ({
  name: outputs[0]!.name,
  opType: op,
  domain,
  input: inputs.map((value) => value?.name ?? ""),
  output: outputs.map(({ name }) => name),
  attribute: Object.entries(attributes).map(([name, value]) => ({ name, ...attribute(value) }))
})

/** The folder that all constants in files lie in or below. */
const commonFolder = (initializers: ReadonlyArray<Initializer>): string | undefined => {
  const folders = initializers.flatMap(({ data }) => ("file" in data ? [dirname(resolve(data.file))] : []))
  return folders.length === 0
    ? undefined
    : folders.reduce((common, folder) => {
        let shared = common
        while (relative(shared, folder).startsWith("..")) shared = dirname(shared)
        return shared
      })
}

const validate = (graph: Graph, nodes: ReadonlyArray<Node>, initializers: ReadonlyArray<Initializer>): void => {
  const problems: Array<string> = []
  const defined = new Set<string>()
  const define = ({ name }: Value) => {
    if (defined.has(name)) problems.push(`two values are called ${name}`)
    defined.add(name)
  }
  graph.inputs.forEach(define)
  initializers.forEach(({ value }) => define(value))
  const bound = new Set<Dim>(graph.inputs.flatMap(({ shape }) => shape))
  // There are few sizes, in many places.
  const unknowns = new Map<Dim, ReadonlyArray<string>>()
  const unknownIn = (size: Dim): ReadonlyArray<string> => {
    if (typeof size === "number") return []
    const found = unknowns.get(size) ?? dimSymbols(size).filter((symbol) => !bound.has(symbol))
    unknowns.set(size, found)
    return found
  }
  for (const { inputs, op, outputs } of nodes) {
    for (const input of inputs) {
      if (input !== undefined && !defined.has(input.name)) problems.push(`${op} uses ${input.name} of another graph`)
    }
    outputs.forEach(define)
    for (const symbol of new Set(outputs.flatMap(({ shape }) => shape.flatMap(unknownIn))))
      problems.push(`${op} has an axis of size ${symbol}, which no input has`)
  }
  if (graph.outputs.length === 0) problems.push("it has no output")
  if (problems.length > 0) throw new InvalidGraph({ problems: problems.slice(0, mostProblems) })
}

const valueInfo = ({ dtype, name, shape }: Value): MessageInitShape<typeof ValueInfoProtoSchema> => {
  const dim = shape.map((size) => ({
    value:
      typeof size === "number"
        ? { case: "dimValue" as const, value: BigInt(size) }
        : { case: "dimParam" as const, value: size }
  }))
  return { name, type: { value: { case: "tensorType", value: { elemType: onnxCode(dtype), shape: { dim } } } } }
}

/** Where data lies outside the model (`TensorProto.DataLocation.EXTERNAL`). */
const outside = 1

const tensor = (
  { data, value }: Initializer,
  folder: string | undefined
): MessageInitShape<typeof TensorProtoSchema> => {
  const { dtype, name, shape } = value
  const described = { name, dims: shape.map(BigInt), dataType: onnxCode(dtype) }
  if (data instanceof Uint8Array) return { ...described, rawData: data }
  const length = shape.reduce<number>((product, dim) => product * Number(dim), byteSize(dtype))
  const place = { location: relative(folder ?? "", resolve(data.file)), offset: data.offset, length }
  const externalData = Object.entries(place).map(([key, entry]) => ({ key, value: String(entry) }))
  return { ...described, dataLocation: outside, externalData }
}

/** Kinds of attribute (`AttributeProto.AttributeType`): FLOAT 1, INT 2, STRING 3, INTS 7. */
const attribute = (value: Attribute): MessageInitShape<typeof AttributeProtoSchema> => {
  if (typeof value === "number") return { type: 2, i: BigInt(value) }
  if (typeof value === "string") return { type: 3, s: new TextEncoder().encode(value) }
  if ("float" in value) return { type: 1, f: value.float }
  return { type: 7, ints: value.map(BigInt) }
}
