/**
 * Draws the pictures of examples/README.md into examples/images, `npm run figures:examples`: the output of each example
 * from a run, some with a diagram of its structure. Takes two minutes, mostly for training.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as ExampleFigure from "./internal/ExampleFigure.ts"
import * as ExampleOutputs from "./internal/ExampleOutputs.ts"
import * as ExampleShapes from "./internal/ExampleShapes.ts"

const folder = fileURLToPath(new URL("../examples/images/", import.meta.url))
mkdirSync(folder, { recursive: true })
const drawn = new Map<string, string>()
for (const shape of ExampleShapes.shapes) drawn.set(shape.file, ExampleShapes.draw(shape))
for (const output of await ExampleOutputs.all()) {
  drawn.set(output.example, ExampleFigure.draw(output))
  console.log(output.example)
}
for (const file of readdirSync(folder)) rmSync(`${folder}${file}`)
for (const [name, svg] of drawn) writeFileSync(`${folder}${name}.svg`, svg)
console.log(`${drawn.size} pictures in examples/images`)
