// What both Java clients share: rounds read from standard input, the account of a round, one line of JSON.
//
// A line `EVENTS RATE` is a round; the rate must be 0 (closed loop). Events carry their number in the first 12 bytes.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.BitSet;
import java.util.concurrent.Semaphore;

abstract class Rounds {
  static final int NUMBER = 12;
  final int size, batch, unanswered;
  private final Semaphore window;
  private BitSet seen = new BitSet();
  private int events, delivered, confirmed, acked, repeated;
  private volatile Throwable failure;

  Rounds(int size, int batch, int unanswered) {
    this.size = size;
    this.batch = batch;
    this.unanswered = unanswered;
    window = new Semaphore(unanswered);
  }

  // Sends events from..from+count-1, together if the protocol can; each is told by confirmed().
  abstract void publish(int from, int count) throws Exception;

  byte[] event(int number) {
    byte[] data = new byte[Math.max(size, NUMBER)];
    Arrays.fill(data, (byte) 'x');
    for (int at = NUMBER - 1, left = number; at >= 0; at--, left /= 10) data[at] = (byte) ('0' + left % 10);
    return data;
  }

  synchronized void confirmed(int count) {
    confirmed += count;
    window.release(count);
    notifyAll();
  }

  synchronized void delivered(byte[] data) {
    int number = Integer.parseInt(new String(data, 0, NUMBER, StandardCharsets.US_ASCII));
    if (number >= events || seen.get(number)) {
      repeated++;
      return;
    }
    seen.set(number);
    delivered++;
    notifyAll();
  }

  synchronized void acked(int count) {
    acked += count;
    notifyAll();
  }

  synchronized void failed(Throwable why) {
    failure = why;
    window.release(unanswered);
    notifyAll();
  }

  private synchronized void begin(int count) {
    events = count / batch * batch;
    seen = new BitSet(events);
    delivered = confirmed = acked = repeated = 0;
  }

  private synchronized void end(double limitSeconds) throws Exception {
    long until = System.nanoTime() + (long) (limitSeconds * 1e9);
    while (failure == null && (delivered < events || confirmed < events || acked < events)) {
      long left = (until - System.nanoTime()) / 1_000_000;
      if (left <= 0) {
        throw new Exception("of " + events + " events " + confirmed + " were confirmed, " + delivered + " delivered, "
            + acked + " acked");
      }
      wait(Math.min(left, 1000));
    }
    if (failure != null) throw new Exception(failure);
  }

  void run() throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.trim().split(" ");
      if (words.length < 2 || !words[1].equals("0")) throw new Exception("EVENTS 0 expected, not " + line);
      begin(Integer.parseInt(words[0]));
      long start = System.nanoTime();
      for (int next = 0; next < events && failure == null; next += batch) {
        window.acquire(batch);
        publish(next, batch);
      }
      end(200);
      double seconds = (System.nanoTime() - start) / 1e9;
      System.out.printf("{\"events\":%d,\"seconds\":%.6f,\"rate\":%.1f,\"repeated\":%d}%n", events, seconds,
          events / seconds, repeated);
    }
  }

  static String option(String[] arguments, String name, String otherwise) {
    for (int i = 0; i + 1 < arguments.length; i++) {
      if (arguments[i].equals(name)) return arguments[i + 1];
    }
    return otherwise;
  }

  static int number(String[] arguments, String name, int otherwise) {
    return Integer.parseInt(option(arguments, name, "" + otherwise));
  }
}
