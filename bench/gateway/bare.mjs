// A bare Express route that parses a JSON body and answers with the same 402 each time: what the
// unpaid challenge is compared with. The header and the body are those of the gateway.
import express from 'express';

const app = express();
const { header, body } = JSON.parse(process.argv[2]);
app.post('/search', express.json(), (_request, response) => {
  response.status(402).set('PAYMENT-REQUIRED', header).json(body);
});
const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
