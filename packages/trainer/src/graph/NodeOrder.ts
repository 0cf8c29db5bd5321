/**
 * Orders the nodes of a model so that ONNX Runtime frees memory as early as possible.
 *
 * The runtime goes depth first from the outputs, and of a node's inputs first computes the one whose node is last in
 * the file (`Graph::ReverseDFSFrom` with `NodeCompare`, onnxruntime/core/graph/graph.cc). So independent nodes are
 * written in reverse: from the end of the file, always the earliest created node whose users are all written. Nodes
 * then run nearly in creation order, forward pass first and layers backward, instead of the first layer's gradients
 * before later layers'.
 */
import type { Node, Value } from "./Value.ts"

interface Whole {
  readonly nodes: ReadonlyArray<Node>
  readonly outputs: ReadonlyArray<Value>
}

/**
 * They count as created with their input: a view of a gradient made at the very end must not move the gradient there.
 */
const views = new Set(["Reshape", "Identity", "Cast", "Transpose"])

/** The nodes that the outputs need, in topological order. */
export const nodeOrder = (graph: Whole): ReadonlyArray<Node> => {
  const live = liveNodes(graph)
  const time = times(live)
  const users = new Map(live.map((node) => [node, 0]))
  for (const node of live) for (const source of sources(node)) users.set(source, users.get(source)! + 1)
  const ready = live.filter((node) => users.get(node) === 0)
  const reversed: Array<Node> = []
  while (ready.length > 0) {
    const first = ready.reduce((best, node, i) => (time.get(node)! < time.get(ready[best]!)! ? i : best), 0)
    const [node] = ready.splice(first, 1)
    reversed.push(node!)
    for (const source of sources(node!)) {
      const left = users.get(source)! - 1
      users.set(source, left)
      if (left === 0) ready.push(source)
    }
  }
  return reversed.toReversed()
}

const sources = ({ inputs }: Node): ReadonlySet<Node> => new Set(inputs.flatMap((input) => input?.node ?? []))

/** Creation time of each node; a view is slightly later than its input. */
const times = (nodes: ReadonlyArray<Node>): ReadonlyMap<Node, number> => {
  const time = new Map<Node, number>()
  const moment = 1 / (nodes.length + 1)
  nodes.forEach((node, index) => {
    const viewed = node.inputs[0]?.node
    time.set(node, views.has(node.op) && viewed !== undefined ? time.get(viewed)! + moment : index)
  })
  return time
}

const liveNodes = (graph: Whole): ReadonlyArray<Node> => {
  const live = new Set<Node>()
  const open = graph.outputs.flatMap(({ node }) => node ?? [])
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (live.has(node)) continue
    live.add(node)
    for (const input of node.inputs) if (input?.node !== undefined) open.push(input.node)
  }
  return graph.nodes.filter((node) => live.has(node))
}
