// Answers every request as Gemini does, with one short text. Prints its port when it listens.
// usage: node bench/provider.mjs
import { createServer } from "node:http";

const answer = {
  candidates: [{ content: { role: "model", parts: [{ text: "Hello." }] }, index: 0, finishReason: "STOP" }],
  usageMetadata: { promptTokenCount: 700, candidatesTokenCount: 2, totalTokenCount: 702 },
};

createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`data: ${JSON.stringify(answer)}\r\n\r\n`);
  });
}).listen(0, "127.0.0.1", function () {
  console.log(this.address().port);
});
