import { readFileSync } from "node:fs"
import { attackOn } from "./Pump.ts"
import * as V from "../../../core/src/verify/choice/ChoiceVerdicts.ts"
const files = ["ChoiceTongues", "ChoiceVerdicts"]
const Real = globalThis.RegExp
const seen: RegExp[] = []
// @ts-ignore
globalThis.RegExp = new Proxy(Real, { construct(t, a) { const r = new t(...(a as [string, string])); seen.push(r); return r } })
await import("../../../core/src/verify/choice/ChoiceTongues.ts?x" as string).catch(() => 0)
globalThis.RegExp = Real
const all = [...V.all.map(([r]) => r), V.called, ...seen]
const P = readFileSync(new URL("../../../core/src/verify/text/Prose.ts", import.meta.url), "utf8")
const T = readFileSync(new URL("../../../core/src/verify/choice/ChoiceTongues.ts", import.meta.url), "utf8")
const O = ["base/KeyOrder.ts","base/ExactJson.ts"].map((f) => readFileSync(new URL("../../../core/src/" + f, import.meta.url), "utf8")).join("\n") + readFileSync(new URL("../../../envs/src/sql/WikiSql.ts", import.meta.url), "utf8")
for (const m of (P + "\n" + T + "\n" + O).matchAll(/(?:^|[\s(\[])\/((?:[^\/\\\n\[]|\\.|\[(?:[^\]\\]|\\.)*\])+)\/([gimsuy]*)(?=[,.)\s\]])/g)) { try { if(!m[1].startsWith("*")) all.push(new RegExp(m[1], m[2])) } catch {} }
console.log(all.length)
for (const r of all) { const a = attackOn(r); if (a) console.log("SLOW", String(r).slice(0, 300), JSON.stringify(a)) }
console.log("done")
