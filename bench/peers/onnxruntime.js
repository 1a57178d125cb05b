// bench/peers/onnxruntime.js: images/s of ONNX Runtime (npm's onnxruntime-node) on a model file; one JSON line.
//   node onnxruntime.js MODEL.onnx [--batch 32] [--threads 2] [--rounds 5] [--seconds 2] [--lockstep]
// onnxruntime.sh installs the package into a temporary folder first. Needed by nothing else.
const ort = require('onnxruntime-node');
const option = (name, fallback) => {
  const i = process.argv.indexOf('--' + name);
  return i < 0 ? fallback : Number(process.argv[i + 1]);
};

async function main() {
  const batch = option('batch', 32), threads = option('threads', 2), seconds = option('seconds', 2);
  const session = await ort.InferenceSession.create(process.argv[2], {
    intraOpNumThreads: threads, interOpNumThreads: 1, executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    extra: {session: {'intra_op.allow_spinning': process.argv.includes('--lockstep') ? '0' : '1'}},
  });
  const data = new Uint16Array(batch * 3 * 224 * 224);
  let state = 1;
  for (let i = 0; i < data.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    data[i] = (state >>> 16 & 0x8000) | (15 + (state >>> 28) % 7) << 10; // +-1 .. 64
  }
  const feeds = {[session.inputNames[0]]: new ort.Tensor('float16', data, [batch, 3, 224, 224])};
  const round = async () => {
    const t0 = performance.now();
    let n = 0, t;
    do {
      await session.run(feeds);
      n += batch;
      t = (performance.now() - t0) / 1000;
    } while (t < seconds);
    return n / t;
  };
  await session.run(feeds);
  if (process.argv.includes('--lockstep')) {
    for await (const line of require('readline').createInterface({input: process.stdin}))
      console.log((await round()).toFixed(4));
    return;
  }
  const rates = [];
  for (let i = 0; i < option('rounds', 5); i++) rates.push(await round());
  rates.sort((a, b) => a - b);
  console.log(JSON.stringify({peer: 'onnxruntime', library: 'ONNX Runtime ' + require('onnxruntime-node/package.json').version,
    precision: 'fp32', batch, threads, images_per_s: rates[rates.length >> 1], least: rates[0],
    most: rates[rates.length - 1]}));
}
main();
