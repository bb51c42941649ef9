// Kafka as its own client drives it: a producer with acks=all, and a share consumer that acknowledges each record.
//   java -cp DIR:JARS KafkaPeer --address HOST:PORT --name TOPIC [--batch N] [--unanswered N] [--size N]
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class KafkaPeer extends Rounds {
  static final int PARTITIONS = 4;
  static final int AROUND_RECORD = 14;  // bytes of a record in a batch beside its value
  final String address, topic;
  final KafkaProducer<byte[], byte[]> producer;

  KafkaPeer(String address, String topic, int size, int batch, int unanswered) throws Exception {
    super(size, batch, unanswered);
    this.address = address;
    this.topic = topic;
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
      admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1))).all().get();
      admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, topic),
          List.of(new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET))))
          .all().get();
    }
    Properties settings = new Properties();
    settings.put("bootstrap.servers", address);
    settings.put("acks", "all");
    // One event a request: no batching, as many requests as events may be unanswered, for which idempotence has no room.
    settings.put("batch.size", batch == 1 ? "0" : "" + batch * (size + AROUND_RECORD));
    settings.put("linger.ms", batch == 1 ? "0" : "5");
    settings.put("max.in.flight.requests.per.connection", "" + Math.max(1, unanswered / batch));
    settings.put("enable.idempotence", "" + (batch > 1));
    producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
  }

  @Override
  void publish(int from, int count) {
    for (int number = from; number < from + count; number++) {
      producer.send(new ProducerRecord<>(topic, event(number)), (metadata, error) -> {
        if (error != null) failed(error); else confirmed(1);
      });
    }
  }

  void consume() {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", address);
    settings.put("group.id", topic);
    settings.put("share.acknowledgement.mode", "explicit");
    settings.put("max.poll.records", "100");
    try (KafkaShareConsumer<byte[], byte[]> consumer =
        new KafkaShareConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.setAcknowledgementCommitCallback((offsets, error) -> {
        if (error != null) {
          failed(error);
          return;
        }
        int count = 0;
        for (Set<Long> some : offsets.values()) count += some.size();
        acked(count);
      });
      consumer.subscribe(List.of(topic));
      while (true) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(1000))) {
          delivered(record.value());
          consumer.acknowledge(record, AcknowledgeType.ACCEPT);
        }
        consumer.commitAsync();
      }
    } catch (Exception error) {
      failed(error);
    }
  }

  public static void main(String[] arguments) throws Exception {
    KafkaPeer peer = new KafkaPeer(option(arguments, "--address", ""), option(arguments, "--name", "bench"),
        number(arguments, "--size", 256), number(arguments, "--batch", 1), number(arguments, "--unanswered", 500));
    Thread consumer = new Thread(peer::consume);
    consumer.setDaemon(true);
    consumer.start();
    peer.run();
    System.exit(0);
  }
}
