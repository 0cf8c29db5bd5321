import * as XG from "/work/wt/numbers/packages/trainer/src/grammar/XGrammar.ts"
import * as SG from "/work/wt/numbers/packages/trainer/src/grammar/SchemaGrammar.ts"
import { readFileSync } from "node:fs"
const lib: any = XG.load()
const words = new Set<string>()
for (const f of ["docs/training.md","docs/agents.md","docs/metrics.md","docs/architecture.md", "package-lock.json"]) for (const w of readFileSync("/work/wt/numbers/"+f,"utf8").match(/ ?[A-Za-z]+|[^A-Za-z\s]+/g)!) { words.add(w.replace(" ", "Ġ")); for (let i=2;i<w.length;i++) words.add(w.slice(0,i).replace(" ","Ġ")) }
const alphabet: string[] = []
let next = 256
for (let b = 0; b < 256; b++) alphabet.push(String.fromCodePoint((b > 32 && b < 127) || (b > 160 && b !== 173) ? b : next++))
const tokens = [...new Set([...alphabet, ...words])].slice(0, 50000)
console.log("tokens", tokens.length)
let t = performance.now()
const info = await lib.TokenizerInfo.createTokenizerInfo(tokens, "byte_level", false, tokens.length, [])
const compiler = await lib.GrammarCompiler.createGrammarCompiler(info, true)
console.log("info", performance.now() - t)
const props = (n: number, required = false) => ({ type: "object", properties: Object.fromEntries(Array.from({ length: n }, (_, i) => [`property_${i}`, { type: "string" }])), ...(required && { required: Array.from({ length: n }, (_, i) => `property_${i}`) }) })
for (const [name, s] of [["string", { type: "string" }], ["any", {type:"object"}], ["maxLength 1000", { type: "string", maxLength: 1000 }], ["maxLength 20", { type: "string", maxLength: 20 }],["enum 1000", { enum: Array.from({length: 1000}, (_, i) => `value ${i}`)}], ["10", props(10)], ["40", props(40)], ["80", props(80)], ["200", props(200)], ["200 required", props(200, true)]] as const) {
  const g: any = SG.make(s)
  if (process.argv[2] === "old") { t = performance.now(); await (compiler as any).compileJSONSchema(JSON.stringify(s), true, undefined, undefined, true, 32) } else {
  const t0 = performance.now()
  const gr = await lib.Grammar.fromEBNF(g.success)
  t = performance.now(); console.log("parse", t - t0, g.success.length)
  const c = await compiler.compileGrammar(gr)
  const m = await lib.GrammarMatcher.createGrammarMatcher(c, [0])
  const t2 = performance.now(); await m.getNextTokenBitmask(); console.log(name, "compile", t2 - t, "mask", performance.now() - t2)
  continue }
  console.log(name, "old", performance.now() - t)
}
