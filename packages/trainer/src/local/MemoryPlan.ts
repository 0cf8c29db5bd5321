/**
 * How a training graph is built for a model and a size of micro-batches: what the backward pass computes again, in how
 * many chunks logits are made, and whether frozen weights are rearranged for the products.
 *
 * The fastest way whose activations fit. Nothing is computed again where all activations take little; else what lies
 * between products of matrices is, for a few percent more time; and where that does not fit either, whole parts, for
 * about a quarter more. Rearranged weights save a tenth of the time and take a copy of them, so they come second. The
 * machine's memory decides, not what is free of it: the same run must be built in the same way when it is resumed.
 *
 * The estimate, bytes for N positions in rows of T, a model of L layers, H hidden, I feed-forward, A heads of D, in
 * float32:
 *
 *     parts     4 N L (H + A D)                   the inputs of layers, and what attention gave
 *     elements  4 N L (2 H + 2 I + 3 A D)         and what the products of matrices gave
 *     nothing   + 4 N L (3 I + 4 H + A T)         and norms, activations, attention's weights
 *     always    + 4 N (6 I + 4 H + 4 A D + 3 A T) the part at hand
 *
 * In rows of more than 256 positions (on WebGPU in those whose scores would be too large) attention is computed in
 * blocks: its weights are never kept (A T falls away), and of the block at hand there are five arrays. At 14 heads of
 * 64 (forward and backward pass of one layer, 2 cores), rows of 1,024 and 4,096 positions then take 252 and 475 MB
 * instead of 744 and 8,110, and 66 and 72 % of the time; 8 sequences in a row of 2,048 take 16 % of it, since what no
 * query sees is left out.
 *
 * Of the gated delta rule, matrices of chunks take the place of attention's weights; that part of the estimate follows
 * from shapes and was not measured.
 *
 * Measured (4 x 256): 9M parameters 495, 577, 731 MB of the whole process, the estimate's differences 71 and 147; 100M
 * parameters 1054, 1353, 1896 MB, differences 340 and 642; with rearranged weights 390 MB more.
 */
import { totalmem } from "node:os"
import type { DeviceKind } from "../exec/Executor.ts"
import type { Remat } from "../model/Decoder.ts"
import type { Shape } from "../model/ModelConfig.ts"
import type { AttentionKind } from "../model/TrainableModel.ts"
import * as BlockAttention from "../model/BlockAttention.ts"
import * as PackedDelta from "../model/PackedDelta.ts"
import * as Tensors from "../model/Tensors.ts"

export interface Workload {
  readonly shape: Shape
  /** Most positions of a micro-batch, N. */
  readonly tokens: number
  /** The longest row, T. */
  readonly rowLength: number
  /** Frozen weights in 8 or 4 bits; without it all are in float32. */
  readonly rounded?: {
    /** Of all weights. */
    readonly bytes: number
    /** Elements of the largest matrix, which is widened for its product. */
    readonly largest: number
  }
}

export interface Plan {
  readonly remat: false | Remat
  readonly attention: AttentionKind
  /** Of feed-forward parts where whole parts are computed again; a power of two, as the chunks are. */
  readonly pieces: number
  /** A power of two. */
  readonly chunks: number
  /** Positions of a chunk; undefined where chunks are not made in a loop. */
  readonly headRows: number | undefined
  /** Frozen weights are copied into the order that products of matrices read them in. */
  readonly prepack: boolean
}

/**
 * I of all layers and experts together, and I that a token passes in one layer. Of what is inside experts nothing is
 * kept; the results of all that a token chose lie side by side.
 */
const feedForward = ({ hiddenSize, intermediateSize, layerTraits = [], layers, mixture }: Shape) => {
  const mixtures = mixture === undefined ? 0 : layerTraits.filter(({ isMixture }) => isMixture).length
  const ofExperts = mixture === undefined ? 0 : mixture.perToken * Math.max(mixture.intermediateSize, hiddenSize / 2)
  return {
    stored:
      (layers - mixtures) * intermediateSize + mixtures * (mixture?.experts ?? 0) * (mixture?.intermediateSize ?? 0),
    passed: mixtures === layers ? ofExperts : Math.max(intermediateSize, ofExperts)
  }
}

/** Of layers with the gated delta rule, numbers of a token: of linear layers, and what is made of these in chunks. */
const recurrence = ({ delta, layerTraits = [] }: Shape) => {
  const layers = layerTraits.filter(({ isDelta }) => isDelta).length
  if (delta === undefined || layers === 0) return { layers: 0, linear: 0, weights: 0, chunks: 0 }
  const { keyDim, valueDim, valueHeads } = delta
  const { mixed, values } = Tensors.deltaSizes({ delta })
  const chunk = PackedDelta.chunk
  return {
    layers,
    linear: mixed + values + 2 * valueHeads,
    weights: mixed + 2 * values + 2 * valueHeads,
    // Queries, keys and values several times, matrices of a chunk as often as its system is solved, states of chunks.
    chunks: valueHeads * (6 * (keyDim + valueDim) + 4 * Math.log2(chunk) * chunk + (2 * keyDim * valueDim) / chunk)
  }
}

/** The weights in float32. */
export const weightBytes = (shape: Shape) => {
  const { hasTiedHead, headDim, heads, hiddenSize, kvHeads, layers, vocabSize } = shape
  const { layers: deltas, weights } = recurrence(shape)
  const gates = shape.hasOutputGate === true ? heads : 0
  const attention = (layers - deltas) * headDim * (2 * (heads + kvHeads) + gates) + deltas * weights
  const blocks = attention + 3 * feedForward(shape).stored
  return 4 * hiddenSize * (blocks + vocabSize * (hasTiedHead ? 1 : 2))
}

/** What a graph holds of weights while it runs. */
export const heldBytes = ({ rounded, shape }: Pick<Workload, "rounded" | "shape">): number =>
  rounded === undefined ? weightBytes(shape) : rounded.bytes + 4 * rounded.largest

const powerOfTwo = (x: number, round: (x: number) => number): number => 2 ** round(Math.log2(Math.max(1, x)))

/** Products of matrices are as fast with so many rows as with more. */
const pieceTokens = 8192

const pieces = (tokens: number): number => powerOfTwo(tokens / pieceTokens, Math.ceil)

/** Activations that live at once, at the peak. */
export const activationBytes = (
  { rowLength, shape, tokens }: Workload,
  remat: Plan["remat"],
  attention: AttentionKind
): number => {
  const { headDim, heads, hiddenSize, layers } = shape
  const intermediateSize = feedForward(shape).passed
  const width = heads * headDim
  const isInBlocks = attention === "blocks"
  const scores = isInBlocks ? 0 : heads * rowLength
  const blocks = isInBlocks ? 5 * BlockAttention.scoresOf(tokens * heads, rowLength) : 0
  const own = recurrence(shape)
  // The larger of the two kinds of layers stands for all.
  const elements = 2 * intermediateSize + Math.max(3 * width, own.linear)
  const others = 3 * intermediateSize + 4 * hiddenSize + Math.max(scores, own.chunks)
  // Of a delta rule no result is kept, but the input of the part after it.
  const layer = hiddenSize + Math.max(width, own.layers > 0 ? hiddenSize : 0)
  const kept = remat === "parts" ? layer : 2 * hiddenSize + elements + (remat === false ? others : 0)
  const inside = (6 * intermediateSize) / (remat === "parts" ? pieces(tokens) : 1)
  const atHand = inside + 4 * hiddenSize + 4 * width + Math.max(3 * scores, 2 * own.chunks)
  return 4 * (tokens * (layers * kept + atHand) + blocks)
}

/** Up to this, blocks of a row are no faster than the whole. */
const longestWholeRow = 256

/** Up to this, saving memory is not worth any time. */
const littleBytes = 128 * 2 ** 20

/** Weights beyond this share of the memory are not rearranged: the copy is large, and large products gain little. */
const rearranged = 1 / 16

/**
 * Logits of a chunk take at most this where chunks of `leastChunk` positions allow it; about five arrays of that size
 * are at hand.
 */
const chunkBytes = 16 * 2 ** 20
const leastChunk = 128
/** Rows are padded to multiples of the number of chunks. */
const mostChunks = 64

export const chunks = ({ shape: { vocabSize }, tokens }: Workload): number =>
  Math.min(
    mostChunks,
    powerOfTwo(tokens / leastChunk, Math.floor),
    powerOfTwo((4 * tokens * vocabSize) / chunkBytes, Math.ceil)
  )

/** How logits are cut. */
const headOf = (workload: Workload, device: DeviceKind): Pick<Plan, "chunks" | "headRows"> => {
  const count = chunks(workload)
  // Of a loop's sizes other devices know nothing: the CPU would have to tell them, chunk by chunk.
  return { chunks: count, headRows: device === "cpu" && count > 1 ? Math.ceil(workload.tokens / count) : undefined }
}

/** No driver tells a GPU's memory: the smallest that are usual. */
const gpuBytes = 8 * 2 ** 30

/** The machine's memory, or what its container may take of it. */
export const memoryBytes = (device: DeviceKind): number => {
  if (device !== "cpu") return gpuBytes
  const allowed = process.constrainedMemory()
  return allowed > 0 ? Math.min(allowed, totalmem()) : totalmem()
}

/**
 * What a shader of WebGPU can see of one tensor on every device. Beyond it ONNX Runtime (1.30) computes softmax and
 * selections wrongly without a word, on devices that have no more.
 */
const bindingBytes = 2 ** 27

/**
 * In blocks where rows are long on the CPU, and on WebGPU where scores of whole rows could be too large for it. The
 * loop over blocks is the CPU's there too, and what is in it the device's.
 */
const attentionOf = (
  { rowLength, shape, tokens }: Pick<Workload, "rowLength" | "shape" | "tokens">,
  device: DeviceKind
): AttentionKind => {
  const isLong =
    device === "cpu"
      ? rowLength > longestWholeRow
      : device === "webgpu" && 4 * tokens * shape.heads * rowLength > bindingBytes
  return isLong ? "blocks" : "rows"
}

/** More positions at once are no faster. */
const mostTokens = 8192
const fewestTokens = 1024

/**
 * Positions of a micro-batch, where nobody says how many: 8192, or as few as a row has (but 1024) until activations fit
 * into half of the memory beside the weights.
 */
export const tokensFor = (
  workload: Omit<Workload, "tokens">,
  device: DeviceKind,
  memory = memoryBytes(device)
): number => {
  const least = Math.max(fewestTokens, workload.rowLength)
  const fits = (tokens: number) =>
    heldBytes(workload) +
      activationBytes({ ...workload, tokens }, "parts", attentionOf({ ...workload, tokens }, device)) <=
    memory / 2
  let tokens = Math.max(mostTokens, workload.rowLength)
  while (tokens > least && !fits(tokens)) tokens = Math.max(least, Math.floor(tokens / 2))
  return tokens
}

const logitBytes = ({ shape, tokens }: Pick<Workload, "shape" | "tokens">, count: number): number =>
  (5 * 4 * tokens * shape.vocabSize) / count

/** What a training graph takes while it runs, and the optimizer beside it: `trained` parameters. */
export const peakBytes = (workload: Workload, plan: Plan, trained: number): number => {
  const logits = logitBytes(workload, plan.chunks)
  const held = heldBytes(workload)
  const activations = activationBytes(workload, plan.remat, plan.attention)
  return held + (plan.prepack ? held : 0) + activations + logits + optimizerBytes * trained
}

/** Of a trained parameter: value, gradient, two moments, and a copy on the way to a graph or a sampler. */
const optimizerBytes = 20

/**
 * The fastest plan of those that take no more than half of the memory, or the one that takes least; `given`: with what
 * is told to be computed again. Only the CPU's products read rearranged weights.
 */
export const choose = (
  workload: Workload,
  device: DeviceKind,
  memory = memoryBytes(device),
  given?: Plan["remat"]
): Plan => {
  const held = heldBytes(workload)
  const left = memory / 2 - held - logitBytes(workload, chunks(workload))
  const attention = attentionOf(workload, device)
  const takes = (remat: Plan["remat"]) => activationBytes(workload, remat, attention)
  const fastest = () =>
    takes(false) <= Math.min(littleBytes, left) ? false : takes("elements") <= left ? ("elements" as const) : "parts"
  const remat = given ?? fastest()
  // Rounded matrices are no constants of a product: they are widened each time.
  const isSmall = held <= Math.min(left - takes(remat), rearranged * memory)
  const prepack = device === "cpu" && workload.rounded === undefined && isSmall
  return { remat, attention, pieces: pieces(workload.tokens), ...headOf(workload, device), prepack }
}
