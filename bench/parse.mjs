// What Longhaul is measured against: reads the same file and runs JSON.parse over each of its lines.
import { readFileSync } from "node:fs";
const started = process.hrtime.bigint();
let records = 0;
for (const line of readFileSync(process.argv[2], "utf8").split("\n")) {
  if (line) {
    JSON.parse(line);
    records += 1;
  }
}
console.log(`${records} records in ${Number(process.hrtime.bigint() - started) / 1e6} ms`);
