import { Graph } from "./src/graph/Graph.ts"
import { toOnnx } from "./src/graph/Onnx.ts"
import * as OrtRuntime from "./src/exec/OrtRuntime.ts"
const n = 5888, m = 5888
type G = any
const ids = (g: G, name: string, shape: number[], f: (i: number) => number) => g.initializer(name, "int32", shape, Int32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => f(i)))
const last = n - 1
const cases: Record<string, (g: G, x: any, y: any) => any> = {
  Add: (g, x, y) => g.add(x, y), Sub: (g, x, y) => g.sub(x, y), Mul: (g, x, y) => g.mul(x, y), Div: (g, x, y) => g.div(x, g.add(g.abs(y), g.scalar(1))),
  Max: (g, x, y) => g.max(x, y), Exp: (g, x) => g.exp(x), Log: (g, x) => g.log(g.add(g.abs(x), g.scalar(1))), Neg: (g, x) => g.neg(x), Sqrt: (g, x) => g.sqrt(g.abs(x)),
  Tanh: (g, x) => g.tanh(x), Sigmoid: (g, x) => g.sigmoid(x), Where: (g, x, y) => g.where(g.less(x, y), x, y), WhereBias: (g, x, y) => g.where(g.and(g.less(x, y), g.less(x, g.scalar(1))), g.scalar(0), g.scalar(-5)), Cast: (g, x) => g.cast(g.cast(g.scale(x, 3), "int32"), "float32"),
  Softmax: (g, x) => g.mul(g.softmax(x), x), ReduceMax: (g, x) => g.amax(x, [1], true), ReduceMax0: (g, x) => g.amax(x, [0], true), ReduceSum: (g, x) => g.sum(x, [1], true), ReduceSum0: (g, x) => g.sum(x, [0], true), ReduceMean: (g, x) => g.mean(x, [1]),
  Transpose: (g, x) => g.transpose(x, [1, 0]), Transpose4: (g, x) => g.reshape(g.transpose(g.reshape(x, [n, 2, m / 2]), [1, 0, 2]), [n, m]), Slice: (g, x) => g.slice(x, 0, n - 10, n), SliceBig: (g, x) => g.slice(x, 0, 1, n), Concat: (g, x, y) => g.concat([x, y], 1), Concat0: (g, x) => g.concat([g.slice(x, 0, 0, n / 2), g.slice(x, 0, n / 2, n)], 0), Split: (g, x) => g.sub(...g.split(x, 0, [n / 2, n / 2])),
  Expand: (g, x) => g.expand(g.slice(x, 0, 0, 1), [n, m]), Gather: (g, x) => g.gather(x, ids(g, "ids", [2, 3], (i) => last - i * 7)), GatherBigOut: (g, x) => g.gather(x, ids(g, "ids", [n], (i) => last - i)), GatherElements: (g, x) => g.gatherLast(x, ids(g, "ids", [n, 1], (i) => (i * 31) % m)),
  CumSum: (g, x) => g.cumsum(x, 0), MatMulBigA: (g, x) => g.matmul(x, g.transpose(g.slice(x, 0, n - 8, n), [1, 0])), MatMulBigB: (g, x) => g.matmul(g.slice(x, 0, n - 8, n), x), GemmBigBT: (g, x) => g.gemm(g.slice(x, 0, n - 8, n), x, false, true), GemmBigB: (g, x) => g.gemm(g.slice(x, 0, n - 8, n), x), GemmBigAT: (g, x) => g.gemm(x, g.slice(x, 1, 0, 8), true, false),
  GemmBigOut: (g, x) => g.gemm(g.slice(x, 1, 0, 2), g.slice(x, 1, 2, 4), false, true), BMMBigOut: (g, x) => g.reshape(g.matmul(g.reshape(g.slice(x, 1, 0, 4), [2, n / 2, 4]), g.transpose(g.reshape(g.slice(x, 1, 4, 8), [2, n / 2, 4]), [0, 2, 1])), [n, m / 2]), Fed: (g) => g.gather(g.input("fed", "float32", [n, m]), ids(g, "ids", [3], (i) => last - i)), FedAdd: (g) => g.add(g.input("fed", "float32", [n, m]), g.scalar(1)),
  Clip: (g, x) => g.node("Clip", [x, g.scalar(-0.5), g.scalar(0.5)], "float32", x.shape), Sign: (g, x) => g.node("Sign", [x], "float32", x.shape), Scatter: (g, x) => g.node("ScatterElements", [x, ids(g, "ids", [n, 1], (i) => (i * 31) % m), g.slice(x, 1, 3, 4)], "float32", x.shape, { axis: 1 }),
  BigOutput: (g, x) => x
}
const wave = (size: number, k: number) => Float32Array.from({ length: size }, (_, i) => Math.sin(i * k + 0.3))
const only = process.argv.slice(2)
for (const [name, build] of Object.entries(cases)) {
  if (only.length > 0 && !only.includes(name)) continue
  const g = new Graph()
  const a = g.input("a", "float32", [n, 2]), b = g.input("b", "float32", [2, m])
  const x = g.matmul(a, b), y = g.scale(x, -0.7)
  let out: any
  try { out = build(g, x, y) } catch (e) { console.log(name, "BUILD", String((e as Error).message).slice(0, 200)); continue }
  if (name === "BigOutput") g.output("z", out)
  else if (out.shape.length === 2 && Number(out.shape[1]) > 1000) { g.output("s", g.matmul(out, g.initializer("w", "float32", [Number(out.shape[1]), 1], wave(Number(out.shape[1]), 0.37)))); if (out.shape[0] === n) g.output("t", g.slice(out, 0, n - 2, n)) } else g.output("s", out)
  const model = toOnnx(g)
  const res: any = {}
  for (const device of ["cpu", "webgpu"] as const) {
    const rt = await OrtRuntime.make({ device, threads: 2 })
    try {
      const id = await rt.load(model)
      const feeds: any = { a: { dtype: "float32", shape: [n, 2], data: wave(2 * n, 0.11) }, b: { dtype: "float32", shape: [2, m], data: wave(2 * m, 0.07) } }
      if (name.startsWith("Fed")) feeds.fed = { dtype: "float32", shape: [n, m], data: wave(n * m, 0.013) }
      res[device] = (await rt.run(id, feeds)).host
    } catch (e) { res[device] = String((e as Error).message).replace(/\s+/g, " ").slice(0, 330) }
    await rt.close()
  }
  if (typeof res.webgpu === "string" || typeof res.cpu === "string") { console.log(name, "FAILED", typeof res.cpu === "string" ? res.cpu : "", res.webgpu); continue }
  let worst = 0, wrong = 0, total = 0
  for (const key of Object.keys(res.cpu)) { const p = res.cpu[key].data, q = res.webgpu[key].data; for (let i = 0; i < p.length; i++) { const d = Math.abs(p[i] - q[i]) / (name === "Softmax" ? 1e-4 : 1 + Math.abs(p[i])); total++; if (!(d < 1e-3)) wrong++; if (!(d < worst)) worst = d } }
  console.log(name, wrong === 0 ? "ok" : "WRONG", wrong, "of", total, worst.toExponential(1))
}
